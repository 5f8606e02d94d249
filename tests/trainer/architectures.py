"""Small models of random weights, one of each kind that methods are tried on."""

from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from trainer import model, tokenizer

_NAMED = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
_GATED = {**_NAMED, "intermediate_size": 64, "num_key_value_heads": 2}
_SHORT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}

SHAPES: dict[str, dict[str, Any]] = {
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "cohere": {**_GATED, "logit_scale": 0.5},
    "falcon": _NAMED,
    "gemma": {**_GATED, "head_dim": 8},
    # Caps low enough to bind, on scores and on logits.
    "gemma2": {
        **_GATED,
        "head_dim": 8,
        "attn_logit_softcapping": 0.5,
        "final_logit_softcapping": 0.5,
        "query_pre_attn_scalar": 1,
    },
    "gpt2": _SHORT,
    "gpt_neo": {
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "max_position_embeddings": 64,
    },
    "gpt_neox": {**_NAMED, "intermediate_size": 64},
    "gptj": {**_SHORT, "rotary_dim": 4},
    "lfm2": {**_GATED, "layer_types": ["conv", "full_attention"]},
    "llama": {**_GATED, "tie_word_embeddings": False},
    "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
    "nemotron": _GATED,
    "olmo": _GATED,
    "opt": {**_NAMED, "ffn_dim": 64, "word_embed_proj_dim": 32},
    "phi": {**_NAMED, "intermediate_size": 64},
    "phi3": {**_NAMED, "intermediate_size": 64},
    "qwen2": _GATED,
}

SEPARATING = sorted(SHAPES.keys() - {"bloom", "lfm2"})
"""Kinds in which packed documents see nothing of each other."""


def write(kind: str, folder: Path, tiny_model: Path, **changes: Any) -> Path:
    """A model folder with the tiny world's tokenizer."""
    words = tokenizer.load(tiny_model)
    ends = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    shape = {"pad_token_id": None, **ends, **SHAPES[kind], **changes}
    torch.manual_seed(1)
    config = AutoConfig.for_model(kind, vocab_size=len(words), **shape)
    module: nn.Module = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in module.parameters():
            # Gains and biases off their first values; matrices large enough to matter.
            noise = torch.randn_like(parameter)
            parameter.add_(noise * (0.1 if parameter.ndim > 1 else 0.3))
    model.save(model.LanguageModel(module, words, kind), folder)
    return folder
