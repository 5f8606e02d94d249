"""LoRA (Hu et al., 2022) through peft, with its variants DoRA and PiSSA.

Only the low-rank matrices train; after the window they are merged into the weights, in fp32,
so that the result is a plain model and rounding does not add up over the months.

``paper`` has the original's settings for GPT-2: rank 4 and alpha 32 on the attention's input
projection (peft adapts the fused query-key-value, 737,280 parameters of GPT-2 Large; of models
that keep the three apart, query and value), dropout 0.1. ``recommended`` adapts every linear
layer with rank 64, since rank 4 on attention alone learns much less. The update is scaled by
alpha / rank.
"""

from typing import Any, ClassVar

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers.pytorch_utils import Conv1D

from trainer.config import Preset, TrainSettings
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter, Plan
from trainer.model import parameter_count
from twiki.errors import TrainerError

_ATTENTION = (
    "c_attn",  # GPT-2
    "q_proj",  # Llama, OPT, Gemma, Qwen, Phi and most others
    "v_proj",
    "query_key_value",  # GPT-NeoX, Falcon, BLOOM
    "qkv_proj",  # Phi-3, CodeGen
    "Wqkv",  # MPT
)
"""What the projection is called; a model has one or two of these."""
_PAPER = {**PAPER, "lora.rank": 4, "lora.alpha": 32, "lora.dropout": 0.1}
_RECOMMENDED = {**RECOMMENDED, "lr": 2e-4, "lora.rank": 64, "lora.alpha": 128}


class Lora(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "lora"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**_PAPER, "lora.targets": _ATTENTION},
        "recommended": _RECOMMENDED,
    }

    _size: int

    def check(self, module: nn.Module, settings: TrainSettings) -> None:
        """Find the layers that the settings name."""
        resolve_targets(module, settings.lora.targets)

    def prepare(self, module: nn.Module, plan: Plan) -> nn.Module:
        """Wrap the module; only the adaptation has gradients.

        Raises:
            TrainerError: no layer has one of the target names.
        """
        settings = plan.settings.lora
        targets = resolve_targets(module, settings.targets)
        self._size = parameter_count(module)
        config = LoraConfig(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            target_modules=targets,
            # GPT-2's Conv1D keeps its weight transposed; peft must know before it merges.
            fan_in_fan_out=all(isinstance(module.get_submodule(n), Conv1D) for n in targets),
            use_dora=settings.variant == "dora",
            init_lora_weights="pissa" if settings.variant == "pissa" else True,
            task_type="CAUSAL_LM",
        )
        # peft draws A at random: the run's seed alone decides it, and a resumed run repeats it.
        torch.manual_seed(plan.settings.seed)
        adapted: nn.Module = get_peft_model(module, config)
        return adapted

    def finish(self, module: nn.Module) -> nn.Module:
        """Merge in fp32; the result has the base's parameters, tied where they were.

        Raises:
            TrainerError: the merged model has another size.
        """
        merged: nn.Module = module.merge_and_unload()  # type: ignore[operator] # peft
        if (found := parameter_count(merged)) != self._size:
            raise TrainerError(f"merging left {found:,} parameters, expected {self._size:,}")
        return merged


class Dora(Lora):
    """LoRA with the magnitude of each weight trained apart from its direction."""

    name: ClassVar[str] = "dora"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**_PAPER, "lora.targets": _ATTENTION, "lora.variant": "dora"},
        "recommended": {**_RECOMMENDED, "lora.variant": "dora"},
    }


class Pissa(Lora):
    """LoRA that starts from the weights' largest singular directions."""

    name: ClassVar[str] = "pissa"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**_PAPER, "lora.targets": _ATTENTION, "lora.variant": "pissa"},
        "recommended": {**_RECOMMENDED, "lora.variant": "pissa"},
    }


def resolve_targets(module: nn.Module, wanted: tuple[str, ...]) -> list[str]:
    """Names of the linear layers to adapt: those that end as ``wanted`` has it, else all.

    The head is none of them.

    Raises:
        TrainerError: there are none, or one of the ends that a user named fits none.
    """
    head = module.get_output_embeddings()  # type: ignore[operator] # HF
    linear = [
        name
        for name, part in module.named_modules()
        if isinstance(part, nn.Linear | Conv1D) and part is not head
    ]
    # Dots included: "c_proj" is in attention and MLP, "mlp.c_proj" not.
    found = {end: [n for n in linear if f".{n}".endswith(f".{end}")] for end in wanted}
    chosen = {name for names in found.values() for name in names} if wanted else set(linear)
    # The preset names every family's layers, of which no model has all.
    lost = [end for end, names in found.items() if not names and wanted != _ATTENTION]
    if lost or not chosen:
        have = ", ".join(sorted({name.rpartition(".")[2] for name in linear})) or "none"
        raise TrainerError(
            f"lora.targets {', '.join(lost or wanted)}: the model has no such linear layer; "
            f"it has {have}"
        )
    return [name for name in linear if name in chosen]
