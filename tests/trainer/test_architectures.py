"""Kinds of models: each loads as it is, keeps documents apart, and starts where its base is."""

import copy
import dataclasses

import architectures
import pytest
import torch
from architectures import SEPARATING, SHAPES
from small_runs import settings
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from trainer import checks, methods, model, train
from trainer.data import document_mask
from trainer.methods.protocol import Plan
from trainer.train import Inputs
from twiki.errors import ConfigError, TrainerError

IDS = torch.arange(3, 23)[None]


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny_model):
    """A folder of each kind, written when first asked for."""
    root = tmp_path_factory.mktemp("kinds")

    def folder(kind):
        path = root / kind
        return path if path.exists() else architectures.write(kind, path, tiny_model)

    return folder


def logits(module, ids=IDS, **more):
    with torch.no_grad():
        return model.forward(module.eval(), ids, **more)


def chosen(method, preset="recommended", **changes):
    rank = {"lora.rank": 4} if method in ("lora", "dora", "pissa") else {}
    return methods.settings_for(method, preset, {"sequence": 32, **rank, **changes})


def prepared(folder, method, preset="recommended", **changes):
    base = model.load(folder).module
    plan = Plan(chosen(method, preset, **changes), 50)
    return base, methods.method(method).prepare(copy.deepcopy(base), plan)


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_every_kind_is_loaded_as_it_was_saved(folders, kind):
    found = model.load(folders(kind)).module
    # Attention written out in torch knows what each kind does to its scores.
    plain = AutoModelForCausalLM.from_pretrained(folders(kind), attn_implementation="eager")
    expected = logits(plain)
    assert (logits(found) - expected).abs().max() <= 1e-5 * expected.abs().max()


@pytest.mark.parametrize("kind", SEPARATING)
def test_packed_documents_answer_as_they_do_alone(folders, kind):
    module = model.load(folders(kind)).module
    segments = (IDS > 10).long()
    cut = int((segments == 0).sum())
    places = torch.cat([torch.arange(cut), torch.arange(IDS.shape[1] - cut)])[None]
    packed = logits(module, mask=document_mask(segments), positions=places)
    alone = torch.cat([logits(module, IDS[:, :cut]), logits(module, IDS[:, cut:])], dim=1)
    assert (packed - alone).abs().max() <= 1e-5 * alone.abs().max()
    assert checks.separates(module)


@pytest.mark.parametrize("kind", sorted(SHAPES.keys() - set(SEPARATING)))
def test_a_kind_that_does_not_keep_documents_apart_trains_without_their_mask(
    tmp_path, folders, september, kind
):
    given = Inputs(folders(kind), september)
    with pytest.raises(TrainerError, match=rf"diff: mask=document.*\({kind}\).*--set mask=none"):
        train.run(settings(steps=2), given, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    made = train.run(settings(steps=2, mask="none"), given, tmp_path / "out")
    assert made["costs"]["steps"] == 2


def test_neighbours_that_mix_a_little_are_noticed(tiny_model):
    # Weights as at birth: what leaks is a ten-thousandth of the logits.
    words = model.load(tiny_model).tokenizer
    config = AutoConfig.for_model("lfm2", vocab_size=len(words), **SHAPES["lfm2"])
    torch.manual_seed(0)
    assert not checks.separates(AutoModelForCausalLM.from_config(config))


def test_a_mask_that_is_ignored_is_noticed(tiny_model, monkeypatch):
    module = model.load(tiny_model).module
    forward = model.forward
    assert checks.separates(module)
    with monkeypatch.context() as patch:
        patch.setattr(model, "forward", lambda m, ids, **_: forward(m, ids))
        assert not checks.separates(module)
    # Positions that go on from the document before are another text, too.
    with monkeypatch.context() as patch:
        patch.setattr(model, "forward", lambda m, ids, mask=None, **_: forward(m, ids, mask=mask))
        assert not checks.separates(module)
    assert not module.training


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_every_parameter_trains_in_plain_training(folders, kind):
    base, module = prepared(folders(kind), "diff")
    assert torch.equal(logits(base), logits(module))
    assert model.trainable_names(module) == [n for n, _ in base.named_parameters()]


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_lora_starts_as_the_base_on_every_linear_layer_but_the_head(folders, kind):
    base, module = prepared(folders(kind), "lora")
    assert torch.equal(logits(base), logits(module))
    names = model.trainable_names(module)
    adapted = {n.split(".lora_")[0].removeprefix("base_model.model.") for n in names}
    head = base.get_output_embeddings()
    linear = {
        name
        for name, part in base.named_modules()
        if part is not head and (isinstance(part, nn.Linear) or type(part).__name__ == "Conv1D")
    }
    assert adapted == linear


@pytest.mark.parametrize("method", ["lora", "dora", "pissa"])
@pytest.mark.parametrize(
    ("kind", "layers"),
    [
        ("bloom", {"query_key_value"}),
        ("falcon", {"query_key_value"}),
        ("gpt2", {"c_attn"}),
        ("gpt_neox", {"query_key_value"}),
        ("llama", {"q_proj", "v_proj"}),
        ("mpt", {"Wqkv"}),
        ("opt", {"q_proj", "v_proj"}),
        ("phi3", {"qkv_proj"}),
    ],
)
def test_the_papers_preset_finds_the_attention_of_every_family(folders, method, kind, layers):
    _, module = prepared(folders(kind), method, "paper")
    names = model.trainable_names(module)
    assert {n.split(".lora_")[0].rpartition(".")[2] for n in names} == layers


@pytest.mark.parametrize("targets", [("nothing",), ("q_proj", "vproj")])
def test_targets_that_no_layer_has_are_named_with_those_there_are(folders, targets):
    match = rf"lora.targets {targets[-1]}: .*it has down_proj, gate_proj, k_proj, o_proj, q_proj"
    with pytest.raises(TrainerError, match=match):
        prepared(folders("qwen2"), "lora", **{"lora.targets": targets})


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_kadapter_starts_as_the_base_trains_its_own_and_comes_back(tmp_path, folders, kind):
    base, module = prepared(folders(kind), "kadapter")
    assert torch.equal(logits(base), logits(module))
    names = model.trainable_names(module)
    assert names == [n for n, _ in module.named_parameters() if not n.startswith("base.")]
    assert {n.partition(".")[0] for n in names} == {"blocks", "norm"}
    # The first step has a gradient to go by, after which the model answers otherwise.
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(2):
        loss = nn.functional.cross_entropy(model.forward(module, IDS)[0, :-1], IDS[0, 1:])
        torch.autograd.backward(loss)
        optimizer.step()
    assert not torch.allclose(logits(base), logits(module), atol=1e-3)
    language = model.load(folders(kind))
    model.save(dataclasses.replace(language, module=module), tmp_path / "adapter")
    assert torch.equal(logits(module), logits(model.load(tmp_path / "adapter").module))


@pytest.mark.parametrize(
    ("kind", "names", "start"),
    [
        ("gpt2", {"weight", "bias"}, 0.0),
        ("llama", {"weight"}, 0.0),
        ("gemma", {"weight"}, -1.0),
        ("gemma2", {"weight"}, -1.0),
        ("nemotron", {"weight", "bias"}, -1.0),
        ("olmo", {"gain"}, 0.0),
    ],
)
def test_the_adapters_norm_is_the_bases_kind_with_a_gain_that_gives_zero(
    folders, kind, names, start
):
    _, module = prepared(folders(kind), "kadapter")
    found = dict(module.norm.named_parameters())
    assert found.keys() == names
    gain = found.get("weight", found.get("gain"))
    assert (gain == start).all()
    assert not module.norm(torch.randn(3, 32)).any()


@pytest.mark.parametrize("kind", SEPARATING)
def test_adapter_blocks_keep_documents_apart_in_every_kind(folders, kind):
    _, module = prepared(folders(kind), "kadapter")
    with torch.no_grad():
        for parameter in module.norm.parameters():
            parameter.add_(0.5)
    assert checks.separates(module)


def test_experts_in_lists_are_not_taken_for_the_models_blocks(tiny_model):
    base = model.load(tiny_model).module
    base.transformer.h[0].experts = nn.ModuleList(nn.Linear(1, 1) for _ in range(9))
    module = methods.method("kadapter").prepare(base, Plan(chosen("kadapter"), 5))
    assert len(module.blocks) == 2
    assert all(type(block).__name__ == "GPT2Block" for block in module.blocks)


def test_a_kind_without_a_last_norm_has_no_place_for_adapters(tmp_path, tiny_model):
    shape = {"do_layer_norm_before": False, "word_embed_proj_dim": 16}
    folder = architectures.write("opt", tmp_path / "opt", tiny_model, **shape)
    with pytest.raises(TrainerError, match=r"kind of model \(opt\) has no norm"):
        checks.shapes([chosen("kadapter")], folder)
    checks.shapes([chosen("lora")], folder)


# --- what a configuration alone says ------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(SHAPES))
@pytest.mark.parametrize("method", ["diff", "lora", "kadapter"])
def test_what_fits_a_model_is_known_without_its_weights(tmp_path, folders, kind, method):
    bare = tmp_path / kind
    bare.mkdir()
    (bare / "config.json").write_bytes((folders(kind) / "config.json").read_bytes())
    checks.shapes([chosen(method)], bare)
    if method == "lora":
        with pytest.raises(TrainerError, match=r"lora\.targets nothing: .*it has"):
            checks.shapes([chosen(method, **{"lora.targets": ("nothing",)})], bare)
    if method == "kadapter":
        with pytest.raises(TrainerError, match=r"kadapter\.layers 1, 2: .*states 0\.\.1"):
            checks.shapes([chosen(method, **{"kadapter.layers": (1, 2)})], bare)


def test_rows_too_long_and_a_missing_model_are_known_without_weights(tmp_path, tiny_model):
    with pytest.raises(ConfigError, match="has 64 positions; set sequence=64"):
        checks.shapes([chosen("diff", sequence=65)], tiny_model)
    with pytest.raises(TrainerError, match=f"{tmp_path}: no model's configuration"):
        checks.shapes([chosen("diff")], tmp_path)


def test_rows_longer_than_a_sliding_window_keep_no_documents_apart(tmp_path, tiny_model):
    # The mask of documents would take the window's place: another model would be trained.
    back = 16
    folder = architectures.write("gemma2", tmp_path, tiny_model, sliding_window=back)
    checks.shapes([chosen("diff", sequence=back)], folder)
    checks.shapes([chosen("diff", sequence=back + 1, mask="none")], folder)
    with pytest.raises(ConfigError, match=f"looks back {back} tokens.*sequence={back}, or mask"):
        checks.shapes([chosen("diff", sequence=back + 1)], folder)


def test_all_that_starts_from_a_model_is_checked_before_the_first_trains(folders):
    with pytest.raises(TrainerError, match="initial: mask=document.*--set-initial mask=none"):
        checks.starts([chosen("initial"), chosen("diff", mask="none")], folders("bloom"))
    with pytest.raises(TrainerError, match="diff: mask=document.*--set mask=none"):
        checks.starts([chosen("initial", mask="none"), chosen("diff")], folders("bloom"))
    checks.starts([chosen("diff", mask="none")], folders("bloom"))


def test_a_broken_start_is_not_taken_for_one_that_mixes_documents(tiny_model):
    module = model.load(tiny_model).module
    with torch.no_grad():
        next(module.parameters()).fill_(torch.nan)
    with pytest.raises(TrainerError, match="no finite logits"):
        checks.separates(module)


def test_a_start_with_adapters_is_asked_for_its_base(tmp_path, tiny_model):
    _, module = prepared(tiny_model, "kadapter")
    language = model.load(tiny_model)
    model.save(dataclasses.replace(language, module=module), tmp_path / "month")
    checks.shapes([chosen("kadapter")], tmp_path / "month")
    with pytest.raises(ConfigError, match="64 positions"):
        checks.shapes([chosen("kadapter", sequence=65)], tmp_path / "month")


@pytest.mark.parametrize(
    ("method", "change"),
    [("lora", {"lora.targets": ("nothing",)}), ("kadapter", {"kadapter.layers": (1, 11)})],
)
def test_a_run_refuses_what_does_not_fit_before_it_reads_text(
    tmp_path, tiny_model, september, method, change
):
    rank = {"lora.rank": 4} if method == "lora" else {}
    with pytest.raises(TrainerError, match=next(iter(change))):
        train.run(settings(method, **rank, **change), Inputs(tiny_model, september), tmp_path / "o")
    assert not (tmp_path / "o").exists()
