"""Settings: what is refused, and what a change may reach."""

import pytest
import torch

from trainer import config, methods
from trainer.config import TrainSettings, as_dict, replace
from trainer.section import read_section
from twiki.errors import ConfigError


def test_a_pull_that_would_diverge_is_refused_before_training():
    with pytest.raises(ConfigError, match=r"product must stay below 2.*lower gamma below 4000"):
        methods.settings_for("recadam", "paper", {"lr": 5e-4})


@pytest.mark.parametrize("method", ["lora", "dora", "pissa"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("rank", 0), ("rank", -1), ("dropout", 1.0), ("dropout", -0.1), ("dropout", float("nan"))],
)
def test_a_rank_or_dropout_that_peft_cannot_use_is_refused_by_name(method, name, value):
    with pytest.raises(ConfigError, match=rf"trainer setting lora\.{name}: .*, found {value}"):
        methods.settings_for(method, "recommended", {f"lora.{name}": value})


def test_methods_without_adaptation_need_no_rank():
    assert methods.settings_for("diff").lora.rank == 0
    with pytest.raises(ConfigError, match=r"lora\.rank: diff expects"):
        methods.settings_for("diff", "recommended", {"lora.rank": -1})


def test_the_papers_own_pull_is_stable():
    settings = methods.settings_for("recadam", "paper")
    assert settings.lr * settings.recadam.gamma == pytest.approx(0.5)


def test_changes_are_checked_together_not_one_after_the_other():
    changes = {"lr": 1e-3, "recadam.gamma": 100.0}
    assert methods.settings_for("recadam", "paper", changes).recadam.gamma == 100.0


@pytest.mark.parametrize("name", ["lr_rate", "lora.rang", "lr.max"])
def test_an_unknown_setting_is_refused(name):
    with pytest.raises(ConfigError, match="does not exist"):
        replace(TrainSettings(), {name: 1})


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("sequence", 0, "at least 1"),
        ("batch", 0, "at least 1"),
        ("keep", 0, "at least 1"),
        ("max_bad_steps", 0, "at least 1"),
        ("lora.alpha", 0, "at least 1"),
        ("micro_batch", -1, "0 or more"),
        ("checkpoint_every", -1, "0 or more"),
        ("epochs", -1.0, "0 or more"),
        ("steps", -1, "0 or more"),
        ("clip", -0.1, "0 or more"),
        ("weight_decay", -0.1, "0 or more"),
        ("review.ratio", -1.0, "0 or more"),
        ("review.decay", -0.5, "0 or more"),
        ("recadam.gamma", -1.0, "0 or more"),
        ("recadam.k", -0.5, "0 or more"),
        ("lr", 0.0, "a number above 0"),
        ("eps", 0.0, "a number above 0"),
        ("kadapter.scale", -0.1, "a number above 0"),
        ("warmup", 1.1, "0 to 1"),
        ("warmup", -0.1, "0 to 1"),
        ("final_lr", -0.1, "0 to 1"),
        ("final_lr", 1.5, "0 to 1"),
        ("merge", 1.5, "0 to 1"),
        ("seed", -1, "0 to 4294967295"),
        ("seed", 1 << 32, "0 to 4294967295"),
        ("spike", -1.0, "0, or a multiple above 1"),
        ("spike", 1.0, "0, or a multiple above 1"),
        ("betas", (2.0, 0.9), "two numbers from 0 to below 1"),
        ("betas", (0.9, 1.0), "two numbers from 0 to below 1"),
        ("betas", (0.9,), "two numbers from 0 to below 1"),
        ("betas", (), "two numbers from 0 to below 1"),
        ("betas", (0.9, 0.9, 0.9), "two numbers from 0 to below 1"),
        ("lr", NAN, "a finite number"),
        ("lr", INF, "a finite number"),
        ("epochs", INF, "a finite number"),
        ("clip", INF, "a finite number"),
        ("betas", (0.9, NAN), "a finite number"),
        ("recadam.t0", NAN, "a finite number"),
        ("recadam.gamma", INF, "a finite number"),
        ("kadapter.scale", NAN, "a finite number"),
    ],
)
def test_a_value_out_of_range_is_refused_and_what_is_allowed_is_said(name, value, wanted):
    with pytest.raises(ConfigError, match=f"^trainer setting {name}: expected {wanted}, found"):
        replace(TrainSettings(), {name: value})


def test_no_number_of_the_settings_may_be_infinite():
    names = [name for name, value in config._numbers(TrainSettings()) if type(value) is float]
    assert {"lr", "betas", "review.decay", "kadapter.scale", "merge"} <= set(names)
    for name in names:
        value = (INF, INF) if name == "betas" else INF
        with pytest.raises(ConfigError, match=f"trainer setting {name}: expected a finite"):
            replace(TrainSettings(), {name: value})


def test_a_run_of_no_length_is_refused():
    with pytest.raises(ConfigError, match="epochs and steps: one of them must be above 0"):
        replace(TrainSettings(), {"epochs": 0.0})
    assert replace(TrainSettings(), {"epochs": 0.0, "steps": 3}).steps == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("warmup", 0.0), ("warmup", 1.0), ("final_lr", 0.0), ("review.decay", 0.0), ("clip", 0.0)],
)
def test_the_ends_of_a_range_belong_to_it(name, value):
    assert replace(TrainSettings(), {name: value})


def test_a_seed_of_the_highest_allowed_draws_every_step():
    last = (1 << 32) - 1
    torch.manual_seed((last * 1_000_003 + 10_000_000) * 1024 + 1023)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lr", "fast"),
        ("batch", 1.5),
        ("compile", 1),
        ("mask", "row"),
        ("lora.rank", None),
        ("recadam", {"gamma": 1.0}),
        ("betas", 0.9),
        ("lr", 10**400),
    ],
)
def test_a_value_of_another_kind_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"trainer setting {name}: expected"):
        replace(TrainSettings(), {name: value})


def test_what_a_file_can_say_is_taken():
    found = replace(
        TrainSettings(),
        {"lr": 1, "betas": [0.9, 0.95], "recadam.gamma": None, "kadapter.layers": [1, 2]},
    )
    assert (found.lr, found.betas, found.kadapter.layers) == (1.0, (0.9, 0.95), (1, 2))


@pytest.mark.parametrize("preset", ["paper", "recommended"])
@pytest.mark.parametrize("name", sorted(methods.METHODS))
def test_every_method_has_both_presets_and_says_which_ran(name, preset):
    settings = methods.settings_for(name, preset)
    assert (settings.method, settings.preset) == (name, preset)
    assert as_dict(settings)["method"] == name


def test_presets_hold_what_the_paper_says():
    diff = methods.settings_for("diff", "paper")
    shape = (diff.batch, diff.sequence, diff.lr, diff.epochs, diff.clip, diff.schedule)
    assert shape == (64, 512, 1e-4, 1.0, 0.1, "one-cycle")
    assert methods.settings_for("mixreview", "paper").review.ratio == 2.0
    assert methods.settings_for("initial", "paper").epochs == 4.0
    lora = methods.settings_for("lora", "paper").lora
    assert lora.alpha / lora.rank == 8.0


def test_how_often_a_run_is_saved_does_not_make_it_another_run():
    one = TrainSettings()
    assert one.digest() == replace(one, {"checkpoint_every": 7, "micro_batch": 2}).digest()
    assert one.digest() != replace(one, {"seed": 1}).digest()


def test_the_section_refuses_unknown_names_and_methods():
    assert read_section({"on_close": ["all"], "runs": "r"}).on == "cut"
    with pytest.raises(ConfigError, match="on_clos"):
        read_section({"on_clos": []})
    with pytest.raises(ConfigError, match="'dif' does not exist"):
        read_section({"on_close": ["dif"]})
    with pytest.raises(ConfigError, match="evaluation_batch"):
        read_section({"evaluation_batch": 0})
