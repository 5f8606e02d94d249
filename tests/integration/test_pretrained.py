"""A real pretrained model: SmolLM2-135M, where its GGUF file is at hand."""

import pretrained_files
import pytest
import torch
from trainer_world import facts, rows, sentences, write_folder

from trainer import evaluate, methods, model, pretrained, train


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    given = pretrained_files.smollm2()
    torch.set_num_threads(1)
    return pretrained.from_gguf(given, tmp_path_factory.mktemp("smollm2") / "model")


def test_it_loads_whole_and_reads_english_better_than_noise(smollm2):
    language = model.load(smollm2)
    assert model.parameter_count(language.module) == 134_515_008
    from trainer import intrinsic

    text = "Paris is the capital and most populous city of France."
    sense = intrinsic.score(language, [text]).all.perplexity
    noise = intrinsic.score(language, [" ".join(reversed(text.split()))]).all.perplexity
    assert sense < noise / 3


@pytest.mark.timeout(600)
def test_a_short_update_teaches_it_the_changed_facts(smollm2, tmp_path):
    folder = write_folder(
        tmp_path / "d",
        {
            "diffset": rows(sentences(1)),
            "probes_changed": facts(1),
            "probes_unchanged": facts(0),
        },
    )
    changes = {
        "sequence": 64,
        "batch": 4,
        "steps": 6,
        "lr": 1e-4,
        "schedule": "constant",
        "checkpoint_every": 0,
    }
    settings = methods.settings_for("diff", "recommended", changes)
    train.run(settings, train.Inputs(smollm2, folder), tmp_path / "run", on="cpu")
    quick = evaluate.EvaluateSettings(parts=("extrinsic",), samples=50)
    before, after = (
        evaluate.run(m, folder, quick)["extrinsic"]["changed"]["object"]["perplexity"]
        for m in (smollm2, tmp_path / "run" / "model")
    )
    assert after < before / 2
