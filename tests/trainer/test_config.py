"""Settings: what is refused, and what a change may reach."""

import pytest

from trainer import methods
from trainer.config import TrainSettings, as_dict, replace
from trainer.section import read_section
from twiki.errors import ConfigError


def test_a_pull_that_would_diverge_is_refused_before_training():
    with pytest.raises(ConfigError, match=r"product must stay below 2.*lower gamma below 4000"):
        methods.settings_for("recadam", "paper", {"lr": 5e-4})


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


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 0.0},
        {"lr": float("nan")},
        {"batch": 0},
        {"merge": 1.5},
        {"epochs": -1.0},
        {"sequence": 0},
        {"keep": 0},
        {"micro_batch": -1},
        {"clip": -0.1},
        {"review.ratio": -1.0},
    ],
)
def test_values_out_of_range_are_refused(change):
    with pytest.raises(ConfigError):
        replace(TrainSettings(), change)


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
