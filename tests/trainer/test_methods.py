"""What each method trains, that it starts as the base, and what it leaves behind."""

import copy
import dataclasses
import warnings

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from trainer import methods, model
from trainer.data import document_mask
from trainer.methods.kadapter import KAdapterLM
from trainer.methods.protocol import Plan
from trainer.optimizer import make_optimizer
from twiki.errors import ConfigError, TrainerError

EVERYTHING = ["initial", "full", "diff", "recadam", "mixreview", "replay", "merge"]
LOW_RANK = ["lora", "dora", "pissa"]
IDS = torch.arange(3, 23)[None]


def small(name, **changes):
    changes = {"lora.rank": 4, "lr": 1e-3, **changes} if name in LOW_RANK else changes
    return methods.settings_for(name, "recommended", changes)


def prepared(folder, name, *, steps=50, initial=None, **changes):
    base = model.load(folder).module
    method = methods.method(name)
    module = method.prepare(copy.deepcopy(base), Plan(small(name, **changes), steps, initial))
    return base, method, module


def logits(module):
    with torch.no_grad():
        return model.forward(module.eval(), IDS)


def train_a_little(module, method, name, *, steps=8, lr=1e-2, **changes):
    """A few steps on one row, as the loop does them."""
    settings = small(name, **changes)
    optimizer = make_optimizer(settings, module, "cpu")
    module.train()
    for step in range(steps):
        loss = torch.nn.functional.cross_entropy(model.forward(module, IDS)[0, :-1], IDS[0, 1:])
        torch.autograd.backward(loss)
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
        method.after_step(step, settings.lr)
        optimizer.zero_grad()
    return float(loss.detach())


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
@pytest.mark.parametrize("name", sorted(methods.METHODS))
def test_step_zero_equals_the_base(folder, name, request):
    base, _, module = prepared(request.getfixturevalue(folder), name)
    exact = 0.0 if name not in LOW_RANK else 2e-5
    assert (logits(base) - logits(module)).abs().max() <= exact


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
@pytest.mark.parametrize("name", EVERYTHING)
def test_these_methods_train_every_parameter(folder, name, request):
    base, method, module = prepared(request.getfixturevalue(folder), name)
    assert model.trainable_names(module) == [n for n, _ in base.named_parameters()]
    train_a_little(module, method, name)
    before = dict(base.named_parameters())
    same = [n for n, p in module.named_parameters() if torch.equal(p, before[n])]
    assert same == []


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
@pytest.mark.parametrize("name", LOW_RANK)
def test_low_rank_methods_change_the_linear_layers_alone(folder, name, request):
    base, method, module = prepared(request.getfixturevalue(folder), name)
    assert all("lora_" in n for n in model.trainable_names(module))
    train_a_little(module, method, name)
    merged = method.finish(module)
    before, after = dict(base.named_parameters()), dict(merged.named_parameters())
    assert before.keys() == after.keys()
    changed = {n for n in before if not torch.equal(before[n], after[n])}
    linear = {
        n
        for n, p in before.items()
        if p.ndim == 2 and not any(part in n for part in ("wte", "wpe", "embed", "lm_head"))
    }
    assert changed == linear


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
@pytest.mark.parametrize("name", LOW_RANK)
def test_merging_changes_no_answer_and_keeps_the_tie(folder, name, request):
    base, method, module = prepared(request.getfixturevalue(folder), name)
    train_a_little(module, method, name)
    before = logits(module)
    merged = method.finish(module)
    assert (before - logits(merged)).abs().max() <= 1e-5 * before.abs().max().clamp(min=1)
    assert model.parameter_count(merged) == model.parameter_count(base)
    tied = base.get_input_embeddings().weight is base.get_output_embeddings().weight
    own = merged.get_input_embeddings().weight is merged.get_output_embeddings().weight
    assert own == tied


def test_the_low_rank_update_is_scaled_by_alpha_over_rank(tiny_model):
    _, _, module = prepared(tiny_model, "lora", **{"lora.alpha": 32})
    found = [getattr(m, "scaling", None) for m in module.modules()]
    assert {s for scale in found if isinstance(scale, dict) for s in scale.values()} == {32 / 4}


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_peft_need_not_guess_how_weights_lie(folder, request):
    # It corrects a wrong fan_in_fan_out with a warning; a later release may not.
    folder = request.getfixturevalue(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared(folder, "lora")


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_twelve_months_of_merging_add_up(folder, request):
    # Twelve known updates: the weights must be their sum with the start, which in bf16, where
    # a weight of 0.1 has steps of 0.0005, they would miss by more than the tolerance.
    module = model.load(request.getfixturevalue(folder)).module
    expected = {n: p.detach().double() for n, p in module.named_parameters()}
    start = dict(expected)
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        method = methods.method("lora")
        adapted = method.prepare(module, Plan(small("lora", **{"lora.alpha": 8}), 1))
        with torch.no_grad():
            for name, layer in adapted.named_modules():
                if not hasattr(layer, "lora_A"):
                    continue
                down, up = (part["default"].weight for part in (layer.lora_A, layer.lora_B))
                for matrix in (down, up):
                    matrix.copy_(torch.randn(matrix.shape, generator=generator) * 0.02)
                update = (up.double() @ down.double()) * 8 / 4
                # GPT-2 keeps its matrices the other way round.
                update = update.T if folder == "tiny_model" else update
                weight = name.removeprefix("base_model.model.") + ".weight"
                expected[weight] = expected[weight] + update
        module = method.finish(adapted)
    for name, parameter in module.named_parameters():
        assert parameter.dtype == torch.float32
        assert (parameter - expected[name]).abs().max() < 1e-6, name
    moved = [n for n in expected if (expected[n] - start[n]).abs().max() > 1e-3]
    assert len(moved) == 2 * (4 if folder == "tiny_model" else 7)


def test_gpt2_larges_papers_lora_has_737280_parameters():
    with torch.device("meta"):
        large = GPT2LMHeadModel(GPT2Config(n_embd=1280, n_layer=36, n_head=20))
        settings = methods.settings_for("lora", "paper")
        module = methods.method("lora").prepare(large, Plan(settings, 1))
    assert model.parameter_count(module, trainable=True) == 737_280
    assert all("attn.c_attn" in n for n in model.trainable_names(module))


def test_a_target_that_no_layer_has_is_an_error(tiny_model):
    with pytest.raises(TrainerError, match="no such linear layer; it has c_attn, c_fc, c_proj$"):
        prepared(tiny_model, "lora", **{"lora.targets": ("nothing",)})


def test_a_dotted_target_keeps_attention_out(tiny_model):
    # GPT-2 has a c_proj in the attention and another in the MLP of each layer.
    _, _, both = prepared(tiny_model, "lora", **{"lora.targets": ("c_proj",)})
    _, _, mlp = prepared(tiny_model, "lora", **{"lora.targets": ("mlp.c_proj",)})
    count = [len([n for n in model.trainable_names(m) if "lora_A" in n]) for m in (both, mlp)]
    assert count == [4, 2]


# --- K-Adapter ----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_kadapter_trains_its_blocks_and_leaves_the_base_as_it_is(folder, request):
    base, method, module = prepared(request.getfixturevalue(folder), "kadapter")
    names = model.trainable_names(module)
    assert names
    assert all(n.startswith(("blocks.", "norm.")) for n in names)
    before = copy.deepcopy(module)
    train_a_little(module, method, "kadapter")
    start = dict(before.named_parameters())
    for n, p in module.named_parameters():
        assert torch.equal(p, start[n]) != (n in names), n
    kept = dict(base.named_parameters())
    for n, p in module.base.named_parameters():
        assert torch.equal(p, kept[n])


def test_kadapter_learns_through_its_blocks(tiny_model):
    _, method, module = prepared(tiny_model, "kadapter")
    first = train_a_little(module, method, "kadapter", steps=1)
    assert train_a_little(module, method, "kadapter", steps=40) < first / 2


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_adapter_blocks_see_neither_pads_nor_other_documents(folder, request):
    _, method, module = prepared(request.getfixturevalue(folder), "kadapter")
    train_a_little(module, method, "kadapter")
    pads = torch.zeros(1, 4, dtype=torch.long)
    padded, mask = torch.cat([pads, IDS], dim=1), torch.cat([pads, torch.ones_like(IDS)], dim=1)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    with torch.no_grad():
        alone = model.forward(module.eval(), IDS)
        left = model.forward(module, padded, mask=mask, positions=positions)[:, 4:]
        assert torch.allclose(alone, left, atol=1e-5)
        segments = torch.cat([pads, torch.ones_like(IDS)], dim=1)
        places = torch.cat([torch.arange(4), torch.arange(IDS.shape[1])])[None]
        packed = {"mask": document_mask(segments), "positions": places}
        behind = model.forward(module, padded, **packed)[:, 4:]
        assert torch.allclose(alone, behind, atol=1e-5)


def gpt2_large():
    return GPT2LMHeadModel(GPT2Config(n_embd=1280, n_layer=36, n_head=20))


def test_the_papers_103_million_are_the_adapter_and_the_embedding():
    with torch.device("meta"):
        settings = methods.settings_for("kadapter", "paper")
        module = methods.method("kadapter").prepare(gpt2_large(), Plan(settings, 12_000))
    own = model.parameter_count(module, trainable=True)
    assert module.layers == (1, 11)
    assert own == 39_357_440
    assert model.parameter_count(module) == 774_030_080 + own
    # Their code resized the embedding to 50,257 + 5 rows after freezing; the new one trained.
    embedding = (50_257 + 5) * 1280
    assert embedding == 64_335_360
    assert round((own + embedding) / 1e6, 1) == 103.7


def test_the_embedding_trains_only_when_asked(tiny_model):
    _, method, module = prepared(tiny_model, "kadapter", **{"kadapter.train_embeddings": True})
    names = model.trainable_names(module)
    assert [n for n in names if n.startswith("base.")] == ["base.transformer.wte.weight"]
    before = module.base.transformer.wte.weight.detach().clone()
    train_a_little(module, method, "kadapter", **{"kadapter.train_embeddings": True})
    assert not torch.equal(before, module.base.transformer.wte.weight)


def test_a_hidden_state_that_the_model_lacks_is_an_error(tiny_model):
    with pytest.raises(TrainerError, match=r"hidden states 0\.\.1"):
        prepared(tiny_model, "kadapter", **{"kadapter.layers": (1, 11)})


@pytest.mark.parametrize("embeddings", [False, True])
def test_kadapter_comes_back_from_its_folder_and_is_carried_on(tmp_path, tiny_model, embeddings):
    changes = {"kadapter.train_embeddings": embeddings}
    _, method, module = prepared(tiny_model, "kadapter", **changes)
    train_a_little(module, method, "kadapter", **changes)
    language = model.load(tiny_model)
    model.save(dataclasses.replace(language, module=module), tmp_path / "month")
    again = model.load(tmp_path / "month").module
    assert torch.equal(logits(module), logits(again))
    carried = methods.method("kadapter").prepare(again, Plan(small("kadapter", **changes), 9))
    assert isinstance(carried, KAdapterLM)
    assert not isinstance(carried.base, KAdapterLM)
    assert torch.equal(logits(module), logits(carried))


def test_kadapter_refuses_a_base_that_has_changed(tmp_path, tiny_model):
    language = model.load(tiny_model)
    model.save(language, tmp_path / "base")
    _, _, module = prepared(tmp_path / "base", "kadapter")
    model.save(dataclasses.replace(language, module=module), tmp_path / "adapter")
    torch.manual_seed(1)
    torch.nn.init.normal_(language.module.transformer.wte.weight)
    model.save(language, tmp_path / "base")
    with pytest.raises(TrainerError, match="not the same any more"):
        model.load(tmp_path / "adapter")


def test_the_recommended_scale_lets_a_short_run_move_the_model(tiny_model):
    _, _, module = prepared(tiny_model, "kadapter", steps=64)
    assert module.scale == pytest.approx(2 / (1e-3 * 64))
    _, _, long = prepared(tiny_model, "kadapter", steps=10**6)
    assert long.scale == 0.1


# --- RecAdam ------------------------------------------------------------------------------------


def test_recadam_pulls_every_parameter_to_the_anchor(tiny_model):
    gamma = {"recadam.gamma": 500.0, "lr": 1e-3}
    base, method, module = prepared(tiny_model, "recadam", **gamma)
    anchor = dict(base.named_parameters())
    torch.manual_seed(0)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(torch.randn_like(p))
    gaps = [max((p - anchor[n]).abs().max().item() for n, p in module.named_parameters())]
    for step in range(3):
        method.after_step(step, 1e-3)
        gaps.append(max((p - anchor[n]).abs().max().item() for n, p in module.named_parameters()))
    # lr * gamma = 0.5: with no gradient the distance halves at each step.
    assert gaps[1:] == pytest.approx([g / 2 for g in gaps[:-1]], rel=1e-4)


def test_recadams_sigmoid_holds_first_and_lets_go_later(tiny_model):
    settings = {"recadam.anneal": "sigmoid", "recadam.gamma": 500.0, "lr": 1e-3}
    _, method, _ = prepared(tiny_model, "recadam", **settings)
    assert method.lr_scale(240) == pytest.approx(0.0067, abs=1e-4)
    assert method.lr_scale(250) == 0.5
    assert method.lr_scale(260) == pytest.approx(0.9933, abs=1e-4)
    assert method.lr_scale(0) >= 0.0
    assert method.lr_scale(10**6) == 1.0


def test_recadams_anchor_is_paired_by_name_and_can_be_the_initial_model(tiny_model):
    torch.manual_seed(0)
    shuffled = dict(reversed(list(model.weights(tiny_model).items())))
    changes = {"recadam.anchor": "initial"}
    base, method, module = prepared(tiny_model, "recadam", initial=lambda: shuffled, **changes)
    method.after_step(0, 1e-3)
    assert torch.allclose(logits(base), logits(module), atol=1e-6)
    with pytest.raises(TrainerError, match="no initial model"):
        prepared(tiny_model, "recadam", **changes)
    with pytest.raises(TrainerError, match="no parameter like"):
        prepared(tiny_model, "recadam", initial=lambda: {"x": torch.zeros(1)}, **changes)


def test_recadams_anchor_is_not_in_the_optimizers_state(tiny_model):
    _, method, module = prepared(tiny_model, "recadam")
    train_a_little(module, method, "recadam", steps=1)
    optimizer = make_optimizer(small("recadam"), module, "cpu")
    shapes = [p for g in optimizer.state_dict()["param_groups"] for p in g["params"]]
    assert len(shapes) == len(list(module.parameters()))


# --- the others ---------------------------------------------------------------------------------


def test_merge_sets_the_weights_between_start_and_result(tiny_model):
    base, method, module = prepared(tiny_model, "merge", merge=0.25)
    train_a_little(module, method, "merge")
    trained = {n: p.detach().clone() for n, p in module.named_parameters()}
    start = dict(base.named_parameters())
    for n, p in method.finish(module).named_parameters():
        expected = start[n] + 0.25 * (trained[n] - start[n])
        assert torch.allclose(p, expected, atol=1e-6)


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_norms_and_biases_are_not_decayed(folder, request):
    module = model.load(request.getfixturevalue(folder)).module
    optimizer = make_optimizer(small("diff"), module, "cpu")
    decayed = {id(p) for g in optimizer.param_groups if g["weight_decay"] for p in g["params"]}
    for name, p in module.named_parameters():
        assert (id(p) in decayed) == (
            not name.endswith("bias") and "norm" not in name and "ln_" not in name
        ), name


def test_an_unknown_method_is_refused():
    with pytest.raises(ConfigError, match="there are initial, full"):
        methods.method("ewc")
