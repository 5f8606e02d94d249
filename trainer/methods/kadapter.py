"""K-Adapter (Wang et al., 2021): decoder blocks beside a frozen model.

Two blocks of the model's own kind read hidden states 1 and 11 (0 is the embedding)::

    a = block0(h[1]);  a = block1(h[11] + a);  out = h[last] + scale * norm(a)

Only the blocks and the norm train; with GPT-2 Large that is 39,357,440 parameters. The
paper's 103M are these plus the 64,335,360 of the tied embedding, which its code trained by
resizing it after freezing; ``kadapter.train_embeddings`` does that on purpose. The norm's
gain starts at zero, so step 0 equals the base exactly; since a gain grows by at most the
learning rate a step, scale * lr * steps should reach 1 (``recommended`` computes it). The
blocks are added once and carried over the months.

A saved folder holds the adapter and a reference to its base; to use it elsewhere, copy both.
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
from trainer.config import KAdapterSettings, Preset
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
        depth = len(_decoder(base))
        if not layers or not all(0 <= i < depth for i in layers):
            raise TrainerError(f"kadapter.layers {layers}: the model has hidden states 0..{depth}")
        norm = next(m for m in reversed(list(_body(base).children())) if _is_norm(m))
        self.blocks = nn.ModuleList(self._fresh(_decoder(base)[i]) for i in layers)
        self.norm = copy.deepcopy(norm)
        for parameter in self.norm.parameters():
            nn.init.zeros_(parameter)

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

        # hidden state i is what block i reads; its other arguments (mask, positions) are what
        # an adapter block of the same kind needs.
        handles = [
            _decoder(self.base)[i].register_forward_pre_hook(keep(i), with_kwargs=True)
            for i in sorted(set(self.layers))
        ]
        try:
            with torch.set_grad_enabled(torch.is_grad_enabled() and self._base_trains()):
                last = _body(self.base)(input_ids=input_ids, use_cache=False, **more)
                last = last.last_hidden_state
        finally:
            for handle in handles:
                handle.remove()
        state: Tensor | None = None
        for index, block in zip(self.layers, self.blocks, strict=True):
            args, kwargs = seen[index]
            given = args[0] if args else kwargs["hidden_states"]
            state = given if state is None else given + state
            rest = {k: v for k, v in kwargs.items() if k != "hidden_states"}
            answer = block(state, *args[1:], **rest)
            state = answer[0] if isinstance(answer, tuple) else answer
        hidden = last + self.scale * self.norm(state)
        return CausalLMOutput(logits=self.get_output_embeddings()(hidden))

    def save_pretrained(self, folder: str) -> None:
        """Write adapter weights and a reference to the base.

        With trained embeddings the base's other weights still stay where they are.
        """
        path = Path(folder)
        own = {n: p.detach().cpu() for n, p in self.named_parameters() if self._owned(n)}
        save_file({n: p.contiguous() for n, p in own.items()}, path / WEIGHTS)
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

    def _owned(self, name: str) -> bool:
        return not name.startswith("base.") or self._embedding_trains(name)

    def _embedding_trains(self, name: str) -> bool:
        own = (self.get_input_embeddings(), self.get_output_embeddings())
        weights = {id(p) for module in own for p in module.parameters()}
        parameter = dict(self.named_parameters())[name]
        return id(parameter) in weights and parameter.requires_grad

    def _base_trains(self) -> bool:
        return any(p.requires_grad for p in self.base.parameters())

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
            for part in (module.get_input_embeddings(), module.get_output_embeddings()):
                for parameter in part.parameters():
                    parameter.requires_grad_(True)  # noqa: FBT003 - torch's own signature
        return module


def resolve_layers(module: nn.Module, settings: KAdapterSettings) -> tuple[int, ...]:
    """The hidden states that blocks read: as set, or the paper's, scaled to a smaller depth."""
    depth = len(_decoder(module))
    if settings.layers or depth > PAPER_LAYERS[1]:
        return settings.layers or PAPER_LAYERS
    first = min(1, max(depth - 2, 0))
    return first, min(depth - 1, max(first + 1, depth // 3))


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
    return module


def _body(base: nn.Module) -> nn.Module:
    """The model below the head."""
    body: nn.Module = base.base_model  # type: ignore[assignment] # HF
    return body


def _decoder(base: nn.Module) -> nn.ModuleList:
    """The list of decoder blocks: the longest ModuleList of the body."""
    lists = [m for m in _body(base).children() if isinstance(m, nn.ModuleList)]
    if not lists:
        raise TrainerError(f"{type(base).__name__}: no list of decoder blocks found")
    return max(lists, key=len)


def _is_norm(module: nn.Module) -> bool:
    return "norm" in type(module).__name__.lower()
