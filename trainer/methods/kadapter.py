"""K-Adapter (Wang et al., 2021): decoder blocks beside a frozen model.

Two blocks of the model's own kind read hidden states 1 and 11 (0 is the embedding)::

    a = block0(h[1]);  a = block1(h[11] + a);  out = h[last] + scale * norm(a)

Only the blocks and the norm train; with GPT-2 Large that is 39,357,440 parameters. The
paper's 103M are these plus the 64,335,360 of the tied embedding, which its code trained by
resizing it after freezing; ``kadapter.train_embeddings`` does that on purpose. The norm's
gain starts where its output is zero, so step 0 equals the base exactly; since a gain grows by
at most the learning rate a step, scale * lr * steps should reach 1 (``recommended`` computes
it). The blocks are added once and carried over the months.

A saved folder holds the adapter, an embedding that ever trained beside it, and a reference to
its base; to use it elsewhere, copy both.
"""

import copy
import os
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers.modeling_outputs import CausalLMOutput

from trainer import files
from trainer.config import KAdapterSettings, Preset, TrainSettings
from trainer.methods.layout import decoder, last_norm, trunk, zero_at_first
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter, Plan
from trainer.model import ADAPTER_FILE, load_plain, weights_digest
from twiki.errors import TrainerError

WEIGHTS = "kadapter.safetensors"
PAPER_LAYERS = (1, 11)


class KAdapterLM(nn.Module):
    """A base model with adapter blocks; called like a Hugging Face causal LM.

    It never caches keys and values: an adapter that sees one token at a time would answer
    otherwise, and answers here are short.
    """

    def __init__(self, base: nn.Module, layers: tuple[int, ...], scale: float) -> None:
        super().__init__()
        self.base = base
        self.layers = layers
        self.scale = scale
        self.source = str(base.config.name_or_path)  # type: ignore[union-attr] # HF
        self.own: frozenset[str] = frozenset()
        norm, width = _place(base, layers)
        self.blocks = nn.ModuleList(self._fresh(decoder(base)[i]) for i in layers)
        self.norm = zero_at_first(norm, width)

    @property
    def config(self) -> Any:  # noqa: ANN401 - HF
        """The base model's configuration."""
        return self.base.config

    def get_input_embeddings(self) -> nn.Module:
        """The base model's token embedding."""
        found: nn.Module = self.base.get_input_embeddings()  # type: ignore[operator] # HF
        return found

    def get_output_embeddings(self) -> nn.Module:
        """The base model's head."""
        found: nn.Module = self.base.get_output_embeddings()  # type: ignore[operator] # HF
        return found

    def forward(self, input_ids: Tensor, *, use_cache: bool = False, **more: Any) -> CausalLMOutput:  # noqa: ANN401, ARG002 - HF's signature
        """Logits of shape ``(rows, length, vocabulary)``."""
        seen: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}

        def keep(index: int) -> Any:  # noqa: ANN401 - a hook
            def hook(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
                seen[index] = (args, kwargs)

            return hook

        def add(_module: nn.Module, _args: tuple[Any, ...], output: Any) -> Any:  # noqa: ANN401 - HF's
            last: Tensor = output.last_hidden_state
            output.last_hidden_state = last + self.scale * self.norm(self._adapted(seen))
            return output

        # hidden state i is what block i reads; its other arguments (mask, positions) are what
        # an adapter block of the same kind needs. What the base does after its last norm (a
        # head, in some kinds a cap on the logits) it does to the sum.
        blocks = decoder(self.base)
        handles = [
            blocks[i].register_forward_pre_hook(keep(i), with_kwargs=True)
            for i in sorted(set(self.layers))
        ]
        handles.append(trunk(self.base).register_forward_hook(add))
        try:
            logits = self.base(input_ids=input_ids, use_cache=False, **more).logits
        finally:
            for handle in handles:
                handle.remove()
        return CausalLMOutput(logits=logits)

    def _adapted(self, seen: dict[int, tuple[tuple[Any, ...], dict[str, Any]]]) -> Tensor:
        """What the last adapter block gives, of the arguments that the base's blocks got."""
        states: list[Tensor] = []
        for index, block in zip(self.layers, self.blocks, strict=True):
            args, kwargs = seen[index]
            given = args[0] if args else kwargs["hidden_states"]
            state = given + states[-1] if states else given
            rest = {k: v for k, v in kwargs.items() if k != "hidden_states"}
            answer = block(state, *args[1:], **rest)
            states.append(answer[0] if isinstance(answer, tuple) else answer)
        return states[-1]

    def train_embeddings(self) -> None:
        """Let embedding and head train; from then on they are saved with the adapter."""
        parts = (self.get_input_embeddings(), self.get_output_embeddings())
        weights = {id(p): p for part in parts for p in part.parameters()}
        for parameter in weights.values():
            parameter.requires_grad_(True)  # noqa: FBT003 - torch's own signature
        self.own |= {name for name, p in self.named_parameters() if id(p) in weights}

    def save_pretrained(self, folder: str) -> None:
        """Write adapter weights and a reference to the base.

        With trained embeddings the base's other weights still stay where they are.
        """
        path = Path(folder)
        own = {
            name: parameter.detach().cpu().contiguous()
            for name, parameter in self.named_parameters()
            if not name.startswith("base.") or name in self.own
        }
        save_file(own, path / WEIGHTS)
        base = Path(self.source)
        # Relative, so that a folder of runs can be moved; measured from the final place, of
        # which ``folder`` is a sibling.
        reference = self.source
        if base.exists():
            reference = os.path.relpath(base.resolve(), path.resolve())
        data = {
            "base": reference,
            "base_digest": weights_digest(self.source),
            "layers": list(self.layers),
            "scale": self.scale,
        }
        files.write_json(path / ADAPTER_FILE, data)

    def _fresh(self, block: nn.Module) -> nn.Module:
        """A block like the given one with weights as at a model's birth."""
        fresh = copy.deepcopy(block)
        init = getattr(self.base, "_init_weights", None)
        for module in fresh.modules():
            # transformers leaves alone what it marked as loaded.
            for part in (module, *module.parameters(recurse=False)):
                vars(part).pop("_is_hf_initialized", None)
            if init is not None:
                init(module)
        return fresh


class KAdapter(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "kadapter"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**PAPER, "kadapter.scale": 0.1},
        "recommended": {**RECOMMENDED, "lr": 1e-3, "kadapter.scale": None},
    }

    def check(self, module: nn.Module, settings: TrainSettings) -> None:
        """Look for the places of the blocks, unless the start already has them."""
        if not isinstance(module, KAdapterLM):
            _place(module, resolve_layers(module, settings.kadapter))

    def prepare(self, module: nn.Module, plan: Plan) -> nn.Module:
        """Add the blocks, or take those that the start already has; freeze the rest."""
        settings = plan.settings.kadapter
        torch.manual_seed(plan.settings.seed)
        if not isinstance(module, KAdapterLM):
            scale = settings.scale
            if scale is None:
                scale = max(0.1, 2.0 / (plan.settings.lr * max(plan.steps, 1)))
            module = KAdapterLM(module, resolve_layers(module, settings), scale)
        for name, parameter in module.named_parameters():
            parameter.requires_grad_(not name.startswith("base."))
        if settings.train_embeddings:
            module.train_embeddings()
        return module


def resolve_layers(module: nn.Module, settings: KAdapterSettings) -> tuple[int, ...]:
    """The hidden states that blocks read: as set, or the paper's, scaled to a smaller depth."""
    depth = len(decoder(module))
    if settings.layers or depth > PAPER_LAYERS[1]:
        return settings.layers or PAPER_LAYERS
    first = min(1, max(depth - 2, 0))
    return first, min(depth - 1, max(first + 1, depth // 3))


def _place(base: nn.Module, layers: tuple[int, ...]) -> tuple[nn.Module, int]:
    """The base's last norm and width, after which an adapter that reads ``layers`` is added.

    Raises:
        TrainerError: there is no place for it.
    """
    depth = len(decoder(base))
    if not layers or not all(0 <= i < depth for i in layers):
        raise TrainerError(
            f"kadapter.layers {', '.join(map(str, layers))}: the model's blocks read hidden "
            f"states 0..{depth - 1}"
        )
    config: Any = base.config
    width = int(config.get_text_config().hidden_size)
    norm = last_norm(base)
    if norm is None or base.get_output_embeddings().weight.shape[-1] != width:  # type: ignore[operator] # HF
        raise TrainerError(
            f"kadapter: this kind of model ({config.model_type}) has no norm after its last "
            "block, or a head of another width: there is no place for adapters"
        )
    return norm, width


def load(folder: Path) -> KAdapterLM:
    """Load a saved adapter with its base.

    Raises:
        TrainerError: the base is gone or another one, or weights are missing.
    """
    data = files.read_json(folder / ADAPTER_FILE)
    base = folder / data["base"]
    source = base.resolve() if base.exists() else data["base"]
    if weights_digest(source) != data["base_digest"]:
        raise TrainerError(f"{folder}: its base model {source} is missing or not the same any more")
    module = KAdapterLM(load_plain(source), tuple(data["layers"]), float(data["scale"]))
    weights = load_file(folder / WEIGHTS)
    missing, unexpected = module.load_state_dict(weights, strict=False)
    gone = [n for n in missing if not n.startswith("base.")]
    if gone or unexpected:
        raise TrainerError(f"{folder / WEIGHTS}: not weights of this adapter: {gone + unexpected}")
    module.own = frozenset(n for n in weights if n.startswith("base."))
    return module
