"""The bench of the cluster says what it needs."""

import pytest

bench_kafka = pytest.importorskip("stream.bench_kafka", reason="the kafka extra is not installed")


def test_a_broker_that_tells_no_members_is_refused_at_once(monkeypatch):
    from stream.cluster import localbroker
    from twiki.errors import EngineError

    monkeypatch.setattr(localbroker, "find_broker", lambda folder, *_: localbroker.Mesh(folder))
    with pytest.raises(EngineError, match="set KAFKA_HOME to an Apache Kafka"):
        bench_kafka.run(edits=1, articles=1)
