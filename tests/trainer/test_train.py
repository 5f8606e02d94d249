"""The loop: exact after every interruption, the same with any micro-batch and process count."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from small_runs import SMALL, KillError, equal, kill_after, settings, small_loop, weights

from trainer import checkpoint, files, model, train
from trainer.train import Inputs, Progress
from twiki.errors import TrainerError


@pytest.fixture(scope="module")
def dropout_model(tmp_path_factory, tiny_model):
    """With dropout, so that a resumed run must repeat chance too."""
    language = model.load(tiny_model)
    for name in ("resid_pdrop", "embd_pdrop", "attn_pdrop"):
        setattr(language.module.config, name, 0.2)
    folder = tmp_path_factory.mktemp("dropout") / "m"
    model.save(language, folder)
    return folder


RESUMED = {
    "diff": {},
    "recadam": {"recadam.anneal": "sigmoid", "recadam.t0": 15.0, "recadam.anchor": "initial"},
    "mixreview": {},
    "lora": {"lora.rank": 4, "lora.dropout": 0.1},
    "dora": {"lora.rank": 4},
    "pissa": {"lora.rank": 4},
    "kadapter": {},
    "merge": {},
}


@pytest.mark.parametrize("method", RESUMED)
def test_thirty_steps_equal_thirteen_and_seventeen_bit_for_bit(
    tmp_path, dropout_model, tiny_model, september, corpus, method
):
    given = Inputs(dropout_model, september, (corpus,), initial=tiny_model)
    changes = RESUMED[method]
    whole = train.run(settings(method, **changes), given, tmp_path / "whole")
    parts = settings(method, checkpoint_every=13, **changes)
    with pytest.raises(KillError):
        train.run(parts, given, tmp_path / "parts", observe=kill_after(15))
    resumed = train.run(parts, given, tmp_path / "parts")
    assert equal(tmp_path / "whole", tmp_path / "parts")
    assert resumed["costs"]["tokens"] == whole["costs"]["tokens"]
    assert resumed["costs"]["final_loss"] == whole["costs"]["final_loss"]


def test_killed_twice_in_one_epoch_and_at_its_end_changes_nothing(
    tmp_path, dropout_model, september
):
    given = Inputs(dropout_model, september)
    record = train.run(settings(), given, tmp_path / "whole")
    epoch = math.ceil(record["text"]["rows"] / 3)
    often = settings(checkpoint_every=1)
    for step in (2, 3, epoch, epoch + 1, 2 * epoch):
        with pytest.raises(KillError):
            train.run(often, given, tmp_path / "killed", observe=kill_after(step + 1))
    train.run(often, given, tmp_path / "killed")
    assert equal(tmp_path / "whole", tmp_path / "killed")
    log = (tmp_path / "killed" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in log] == list(range(30))


def test_a_checkpoint_at_an_epochs_very_end_changes_nothing(tmp_path, dropout_model, september):
    given = Inputs(dropout_model, september)
    record = train.run(settings(), given, tmp_path / "whole")
    # Eleven steps of three rows are three epochs of eleven: the next place is an epoch's first.
    assert record["text"]["rows"] == 11
    parts = settings(checkpoint_every=11)
    with pytest.raises(KillError):
        train.run(parts, given, tmp_path / "parts", observe=kill_after(12))
    assert checkpoint.newest(tmp_path / "parts" / "checkpoints").step == 11
    train.run(parts, given, tmp_path / "parts")
    assert equal(tmp_path / "whole", tmp_path / "parts")


def test_a_mixture_that_decays_is_resumed_with_the_ratio_it_began_with(
    tmp_path, tiny_model, september, corpus
):
    def given(before):
        return Inputs(tiny_model, september, (corpus,), windows_before=before)

    cut = settings("mixreview", checkpoint_every=2, steps=6, **{"review.decay": 0.5})
    with pytest.raises(KillError):
        train.run(cut, given(1), tmp_path / "o", observe=kill_after(4))
    with pytest.raises(TrainerError, match=r"different mixture \(1.0, now 0.5\)"):
        train.run(cut, given(2), tmp_path / "o")
    done = train.run(cut, given(1), tmp_path / "o")
    assert done["text"]["reviewed_rows"] == done["text"]["rows"]
    with pytest.raises(TrainerError, match="finished with different mixture"):
        train.run(cut, given(0), tmp_path / "o")
    # Without decay the windows before decide nothing, and the fingerprint has no more parts.
    plain = settings("mixreview", steps=1)
    first = train.run(plain, given(1), tmp_path / "plain")
    assert set(first["fingerprint"]) == {"settings", "model", "data", "tokenizer", "anchor"}
    assert train.run(plain, given(5), tmp_path / "plain") == first


def test_the_log_of_a_resumed_run_has_the_learning_rates_of_an_undisturbed_one(
    tmp_path, tiny_model, september
):
    def rates(folder):
        return [json.loads(s)["lr"] for s in (folder / "log.jsonl").read_text().splitlines()]

    train.run(settings(), Inputs(tiny_model, september), tmp_path / "whole")
    cut = settings(checkpoint_every=10)
    with pytest.raises(KillError):
        train.run(cut, Inputs(tiny_model, september), tmp_path / "cut", observe=kill_after(12))
    train.run(cut, Inputs(tiny_model, september), tmp_path / "cut")
    assert rates(tmp_path / "cut") == rates(tmp_path / "whole")


def test_the_newest_checkpoints_are_kept_and_a_damaged_one_is_named(
    tmp_path, tiny_model, september
):
    cut, given, out = settings(checkpoint_every=3), Inputs(tiny_model, september), tmp_path / "out"
    with pytest.raises(KillError):
        train.run(cut, given, out, observe=kill_after(11))
    assert sorted(p.name for p in (out / "checkpoints").iterdir()) == [
        "step-00000006",
        "step-00000009",
    ]
    for name, damage in (("optimizer.pt", b"no"), ("model.safetensors", b""), ("state.json", b"{")):
        file = out / "checkpoints/step-00000009" / name
        kept = file.read_bytes()
        file.write_bytes(damage)
        with pytest.raises(TrainerError, match=r"step-00000009.*cannot be read"):
            train.run(cut, given, out)
        file.write_bytes(kept)
    train.run(cut, given, out)


def test_a_half_written_checkpoint_does_not_count(tmp_path, tiny_model, september):
    cut = settings(checkpoint_every=10)
    out = tmp_path / "out"
    with pytest.raises(KillError):
        train.run(cut, Inputs(tiny_model, september), out, observe=kill_after(12))
    (out / "checkpoints" / "step-00000020.tmp").mkdir()
    assert checkpoint.newest(out / "checkpoints").step == 10
    train.run(cut, Inputs(tiny_model, september), out)
    assert not (out / "checkpoints").exists()


def test_a_checkpoint_of_another_model_is_refused_and_stays(
    tmp_path, tiny_model, dropout_model, september
):
    cut = settings(checkpoint_every=10)
    out = tmp_path / "out"
    with pytest.raises(KillError):
        train.run(cut, Inputs(tiny_model, september), out, observe=kill_after(12))
    before = files.sha256_of(out / "checkpoints/step-00000010/model.safetensors")
    with pytest.raises(TrainerError, match="checkpoint with different model"):
        train.run(cut, Inputs(dropout_model, september), out)
    with pytest.raises(TrainerError, match="checkpoint with different settings"):
        train.run(settings(seed=1), Inputs(tiny_model, september), out)
    assert files.sha256_of(out / "checkpoints/step-00000010/model.safetensors") == before


def test_a_finished_run_is_not_trained_again(tmp_path, tiny_model, september):
    given = Inputs(tiny_model, september)
    first = train.run(settings(steps=2), given, tmp_path / "out")
    again = train.run(settings(steps=2), given, tmp_path / "out", observe=kill_after(1))
    assert again == files.read_json(tmp_path / "out" / "run.json")
    assert again["fingerprint"] == first["fingerprint"]
    with pytest.raises(TrainerError, match="finished with different settings"):
        train.run(settings(steps=3), given, tmp_path / "out")


@pytest.mark.parametrize("micro_batch", [1, 2, 7])
def test_micro_batches_change_no_gradient(tmp_path, tiny_model, september, micro_batch):
    # Rows hold different numbers of tokens: a mean of means would differ.
    def gradients(size):
        loop = small_loop(tmp_path, tiny_model, {"batch": 7, "micro_batch": size})
        batch = loop.mixture.batch(loop.mixture.rows(0, 7))
        tokens = int((batch.labels != -100).sum())
        assert tokens < 7 * 16
        loop._backward(batch, tokens)
        return [p.grad for p in loop.module.parameters()]

    for one, other in zip(gradients(7), gradients(micro_batch), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_two_processes_have_the_loss_of_one(tmp_path, tiny_model, september):
    given = Inputs(tiny_model, september, cache=tmp_path / "tokens")
    # Eleven rows by four: the last step leaves one process without a row.
    chosen = settings(batch=4, steps=0, epochs=2.0)
    alone = train.run(chosen, given, tmp_path / "one")
    script = tmp_path / "two.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nimport torch\n"
        "torch.set_num_threads(1)\n"
        "from trainer import methods, train\n"
        f"chosen = methods.settings_for('diff', 'recommended', "
        f"{ {**SMALL, 'batch': 4, 'steps': 0, 'epochs': 2.0}!r})\n"
        f"given = train.Inputs(Path({str(tiny_model)!r}), Path({str(september)!r}), "
        f"cache=Path({str(tmp_path / 'tokens')!r}))\n"
        f"train.run(chosen, given, Path({str(tmp_path / 'two')!r}), on='cpu')\n"
        # A second run in the same processes, as in a study.
        "again = methods.settings_for('kadapter', 'recommended', {'sequence': 16, 'steps': 2})\n"
        f"train.run(again, given, Path({str(tmp_path / 'next')!r}), on='cpu')\n"
        # The group itself, not only what it was asked for, waits as long as the first may take.
        "import torch.distributed as dist\n"
        "from trainer.processes import PATIENCE\n"
        "group = dist.group.WORLD._get_backend(torch.device('cpu'))\n"
        "assert group.options._timeout == PATIENCE, group.options._timeout\n"
    )
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, str(script)], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]

    def losses(folder):
        return [json.loads(s)["loss"] for s in (folder / "log.jsonl").read_text().splitlines()]

    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-4)
    assert (tmp_path / "next" / "run.json").exists()
    record = files.read_json(tmp_path / "two" / "run.json")
    assert record["costs"]["processes"] == 2
    assert record["costs"]["tokens"] == alone["costs"]["tokens"]
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert all(torch.allclose(one[n], two[n], atol=1e-4) for n in one)


def test_gradients_are_clipped_by_the_norm_of_all_of_them(tmp_path, tiny_model):
    loop = small_loop(tmp_path, tiny_model, {"clip": 0.01, "betas": (0.9, 0.99)})
    report = next(loop.train(Progress()))
    assert report.grad_norm > 0.1
    # After one step Adam's first moment is a tenth of the gradient that it was given.
    first = [s["exp_avg"].norm() for s in loop.optimizer.state.values()]
    assert float(torch.stack(first).norm()) == pytest.approx(0.1 * 0.01, rel=1e-3)


# --- what a run reports ---------------------------------------------------------------------------


def test_a_review_run_reports_the_loss_of_old_text_apart(tmp_path, tiny_model, september, corpus):
    given = Inputs(tiny_model, september, (corpus,))
    record = train.run(settings("mixreview", steps=0, batch=8), given, tmp_path / "o")
    assert record["text"]["reviewed_rows"] == 2 * record["text"]["rows"]
    lines = [json.loads(s) for s in (tmp_path / "o" / "log.jsonl").read_text().splitlines()]
    assert any(line["loss_old"] for line in lines)


def test_a_run_learns_its_text(tmp_path, tiny_model, corpus):
    chosen = settings("initial", steps=150, batch=8, schedule="constant")
    record = train.run(chosen, Inputs(tiny_model, corpus), tmp_path / "o")
    assert record["costs"]["final_loss"] < 1.5


def test_costs_follow_the_formula(tmp_path, tiny_model, september):
    record = train.run(settings(steps=2), Inputs(tiny_model, september), tmp_path / "o")
    costs = record["costs"]
    assert costs["flops"] == costs["flops_per_token"] * costs["tokens"]
    assert costs["device"] == "cpu"
    assert costs["memory_bytes"] > 0
    assert record["versions"]["torch"] == torch.__version__


def test_mfu_is_the_share_of_the_devices_peak(tmp_path, tiny_model, september, monkeypatch):
    monkeypatch.setattr(train.cost, "device_peak", lambda _device: 1e12)
    record = train.run(settings(steps=2), Inputs(tiny_model, september), tmp_path / "o")
    costs = record["costs"]
    expected = costs["flops"] / costs["seconds"] / 1e12
    assert costs["mfu"] == pytest.approx(expected)
    line = json.loads((tmp_path / "o" / "log.jsonl").read_text().splitlines()[1])
    rate = line["tokens_per_second"] * costs["flops_per_token"] / 1e12
    assert line["mfu"] == pytest.approx(rate)


def test_rows_of_a_step_are_a_function_of_the_step(tmp_path, tiny_model):
    loop = small_loop(tmp_path, tiny_model, {})
    assert (loop.mixture.rows(26 * 3, 27 * 3) == loop.mixture.rows(0, 90)[78:81]).all()
    assert isinstance(loop.mixture.rows(0, 3), np.ndarray)


PROGRAM = """
import os, signal, sys
from pathlib import Path

# A training machine has torch and its kin, not the rest of the system.
for name in ("msgspec", "typer", "rich", "lxml", "rocksdict", "spacy", "mwparserfromhell"):
    sys.modules[name] = None
import torch
torch.set_num_threads(1)
from trainer import methods, train

model, data, out, last = sys.argv[1:]

def observe(report):
    if report.step == int(last):
        os.kill(os.getpid(), signal.SIGKILL)

settings = methods.settings_for("diff", "recommended", CHANGES)
train.run(settings, train.Inputs(Path(model), Path(data)), Path(out), observe=observe)
"""


def test_a_killed_process_leaves_what_the_next_one_needs(tmp_path, tiny_model, september):
    changes = {**SMALL, "checkpoint_every": 5}
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("CHANGES", repr(changes)))
    words = [sys.executable, str(program), str(tiny_model), str(september), str(tmp_path / "out")]
    killed = subprocess.run([*words, "12"], capture_output=True, check=False, timeout=100)
    assert killed.returncode == -9, killed.stderr.decode()[-2000:]
    assert not (tmp_path / "out" / "run.json").exists()
    train.run(settings(checkpoint_every=5), Inputs(tiny_model, september), tmp_path / "out")
    train.run(settings(), Inputs(tiny_model, september), tmp_path / "whole")
    assert equal(tmp_path / "out", tmp_path / "whole")
