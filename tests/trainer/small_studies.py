"""Studies of a few steps on the tiny world, shared by their tests."""

from trainer import evaluate, timeline
from trainer.runs import Runs
from trainer.study_plan import Study, WindowData

QUICK = {"sequence": 16, "batch": 4, "steps": 3, "checkpoint_every": 1}
INITIAL = {**QUICK, "steps": 6, "lr": 3e-3}
EVALUATION = evaluate.EvaluateSettings(parts=evaluate.PARTS, samples=20, tagger="", rows=20)


def windows(world):
    found = timeline.datasets(world / "datasets" / "tiny")
    return [WindowData(p, world / "corpora" / p.parent.name) for p in found]


def make(world, root, *names, **more):
    return Study(
        runs=Runs(root),
        corpus=world / "corpora" / "first",
        start=world / "start",
        methods=names,
        changes=QUICK,
        method_changes={"initial": INITIAL},
        evaluation=EVALUATION,
        **more,
    )
