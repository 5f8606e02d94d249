"""Causal language models: made small, loaded, called, counted and saved.

Every model here is called the same way, ``logits = forward(module, ids, ...)``, whether it
is a plain Hugging Face model or one with adapters beside it
(:mod:`trainer.methods.kadapter`). Weights are always fp32: what a checkpoint stores in bf16
would otherwise train in bf16, where an update of 1e-4 on a weight of 1 is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel
from transformers.utils import logging as transformers_logging

from trainer import files, tokenizer
from trainer.config import SmallModel
from twiki.errors import TrainerError

ADAPTER_FILE = "kadapter.json"
"""Stands in a model folder whose base model lies elsewhere."""


@dataclass(frozen=True)
class LanguageModel:
    """A module, its tokenizer and the folder or name both came from."""

    module: nn.Module
    tokenizer: Any
    source: str

    @property
    def prefix(self) -> int:
        """The token before the first."""
        return tokenizer.prefix_id(self.tokenizer)

    @property
    def end(self) -> int:
        """The token after the last."""
        return tokenizer.end_id(self.tokenizer)


def forward(
    module: nn.Module,
    ids: Tensor,
    *,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """Logits, shape ``(rows, length, vocabulary)``, of token ids ``(rows, length)``.

    ``mask`` is None (causal), ``(rows, length)`` with 1 for real tokens, or boolean
    ``(rows, 1, length, length)``. Nothing is passed that is not needed: an all-ones mask
    makes transformers ignore document boundaries in ``positions`` and costs the fast kernel.
    """
    more: dict[str, Tensor] = {}
    if mask is not None:
        more["attention_mask"] = _added(mask) if _adds_masks(module, mask) else mask
    if positions is not None:
        more["position_ids"] = positions
    logits: Tensor = module(input_ids=ids, use_cache=False, **more).logits
    return logits


def small_model(
    texts: Sequence[str],
    out_dir: Path,
    *,
    shape: SmallModel | None = None,
    parameters: int = 5_000_000,
    seed: int = 0,
) -> Path:
    """Make a GPT-2 of at most ``parameters`` random weights, with a tokenizer for ``texts``.

    Nothing is downloaded. The folder appears whole, in the layout that transformers reads.

    Raises:
        TrainerError: the shape has more parameters than allowed, or there is no text.
    """
    shape = shape or SmallModel()
    if not any(text.strip() for text in texts):
        raise TrainerError(f"{out_dir}: no text to train a tokenizer on")
    words = tokenizer.train_bpe(texts, shape.vocabulary, prefix_space=shape.prefix_space)
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(words),
        n_positions=shape.positions,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        resid_pdrop=shape.dropout,
        embd_pdrop=shape.dropout,
        attn_pdrop=shape.dropout,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
    )
    module: nn.Module = GPT2LMHeadModel(config)  # type: ignore[no-untyped-call] # HF
    if (size := parameter_count(module)) > parameters:
        raise TrainerError(f"{out_dir}: {size:,} parameters, at most {parameters:,} allowed")
    save(LanguageModel(module, words, str(out_dir)), out_dir)
    return out_dir


def load(source: Path | str, *, device: str = "cpu") -> LanguageModel:
    """Load a model and its tokenizer from a folder (or a hub name that is no folder).

    Raises:
        TrainerError: weights or tokenizer are missing or do not fit each other.
    """
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call] # HF
    words = tokenizer.load(source)
    if (Path(source) / ADAPTER_FILE).exists():
        from trainer.methods import kadapter  # noqa: PLC0415 - it builds on this module

        module: nn.Module = kadapter.load(Path(source))
    else:
        module = load_plain(source)
    rows = int(module.get_input_embeddings().weight.shape[0])  # type: ignore[operator] # HF
    if len(words) > rows:
        raise TrainerError(
            f"{source}: the tokenizer has {len(words)} tokens, the model {rows}: "
            "they do not belong together"
        )
    return LanguageModel(module.to(device).eval(), words, str(source))


def configuration(source: Path | str) -> Any:  # noqa: ANN401 - transformers ships no types
    """The configuration of a model, of its base where it has adapters; no weights are read.

    Raises:
        TrainerError: there is no model.
    """
    folder = Path(source)
    if (folder / ADAPTER_FILE).exists():
        base = str(files.read_json(folder / ADAPTER_FILE)["base"])
        return configuration((folder / base).resolve() if (folder / base).exists() else base)
    try:
        return AutoConfig.from_pretrained(str(source), local_files_only=folder.exists())
    except (OSError, ValueError, KeyError) as error:
        raise TrainerError(f"{source}: no model's configuration can be read: {error}") from error


def outline(source: Path | str) -> nn.Module:
    """A model of a source's shape without weights (on torch's ``meta`` device).

    Raises:
        TrainerError: there is no causal language model.
    """
    config = configuration(source)
    try:
        with torch.device("meta"):
            module: nn.Module = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call] # HF
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise TrainerError(f"{source}: no causal language model can be made: {error}") from error
    return module


def load_plain(source: Path | str) -> nn.Module:
    """Load a Hugging Face causal LM in fp32.

    Raises:
        TrainerError: there is none in this folder.
    """
    # torch's kernel knows no cap on the scores (Gemma 2) and would leave it out.
    capped = getattr(configuration(source).get_text_config(), "attn_logit_softcapping", None)
    try:
        try:
            return _pretrained(source, "eager" if capped else "sdpa")
        except ValueError:
            # Not every kind of model has been written for the kernel.
            return _pretrained(source, "eager")
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise TrainerError(f"{source}: no causal language model can be loaded: {error}") from error


def _pretrained(source: Path | str, attention: str) -> nn.Module:
    module: nn.Module = AutoModelForCausalLM.from_pretrained(
        str(source),
        dtype=torch.float32,
        attn_implementation=attention,
        local_files_only=Path(source).exists(),
    )
    return module


def save(model: LanguageModel, folder: Path) -> None:
    """Write module and tokenizer as a folder that appears whole."""
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call] # HF
    with files.new_folder(folder) as aside:
        model.module.save_pretrained(str(aside))  # type: ignore[operator] # HF and ours have it
        model.tokenizer.save_pretrained(str(aside))


def parameter_count(module: nn.Module, *, trainable: bool = False) -> int:
    """Parameters, tied ones once."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad or not trainable)


def trainable_names(module: nn.Module) -> list[str]:
    """Names of the parameters that a training would change."""
    return [name for name, p in module.named_parameters() if p.requires_grad]


def weights_digest(source: Path | str) -> str:
    """A hash of the weight files of a model folder; of the name for a hub model."""
    folder = Path(source)
    if not folder.exists():
        return f"hub:{source}"
    names = sorted(p for p in folder.iterdir() if p.suffix in (".safetensors", ".bin", ".json"))
    parts = [f"{p.name} {files.sha256_of(p)}" for p in names if "tokenizer" not in p.name]
    return files.sha256_text("\n".join(parts))


def weights(source: Path | str) -> dict[str, Tensor]:
    """Parameters of a model by name, tied ones once."""
    return {name: p.detach() for name, p in load(source).module.named_parameters()}


def _adds_masks(module: nn.Module, mask: Tensor) -> bool:
    """Whether a model would add a boolean mask to its scores: torch's kernel alone reads one."""
    inner = module.module if isinstance(module, nn.parallel.DistributedDataParallel) else module
    kernel = getattr(inner.config, "_attn_implementation", None)
    return mask.dtype == torch.bool and kernel != "sdpa"


def _added(mask: Tensor) -> Tensor:
    """What added to scores leaves those where the mask is true."""
    least = torch.finfo(torch.float32).min
    return torch.zeros_like(mask, dtype=torch.float32).masked_fill(~mask, least)
