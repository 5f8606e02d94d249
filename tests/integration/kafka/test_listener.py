"""Trainings on announced datasets: each (window, version, method) once, whoever listens."""

from stream.cluster.windows import Publisher
from stream.listener import Listener
from stream.topics import Topic
from twiki.windows.cut import CutReport


class Clock:
    """Stops the listener when enough was trained."""

    def __init__(self, done):
        self.done = done

    @property
    def stopped(self):
        return self.done()


def announce(cluster, window, version):
    folder = cluster.folder / window / f"v{version}"
    report = CutReport(window=window, version=version, folder=folder, counts={})
    with Publisher(cluster.settings) as publisher:
        publisher.announce("closed", window)
        publisher.announce("dataset", window, report)


def listen(cluster, trained, upto, fails=()):
    def start(record, method):
        trained.append((record.window, record.version, method))
        return trained[-1] not in fails

    listener = Listener(cluster.settings, ("diff", "lora"), start)
    listener.run(Clock(lambda: len(trained) >= upto))


def test_each_window_version_and_method_is_trained_once(cluster):
    cluster.create()
    announce(cluster, "2026-09", 1)
    trained = []
    listen(cluster, trained, 2)
    announce(cluster, "2026-09", 2)
    announce(cluster, "2026-09", 2)  # told twice
    listen(cluster, trained, 4)
    assert trained == [("2026-09", v, m) for v in (1, 2) for m in ("diff", "lora")]


def test_what_failed_is_tried_again_by_the_next_listener(cluster):
    cluster.create()
    announce(cluster, "2026-09", 1)
    trained = []
    listen(cluster, trained, 2, fails=[("2026-09", 1, "diff")])
    listen(cluster, trained, 3)
    assert trained[2] == ("2026-09", 1, "diff")


def test_poison_among_the_announcements_stops_nobody(cluster):
    cluster.create()
    cluster.send(Topic.WINDOWS, b"{")
    announce(cluster, "2026-09", 1)
    trained = []
    listen(cluster, trained, 2)
    assert len(trained) == 2
