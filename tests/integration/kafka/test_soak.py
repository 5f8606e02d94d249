"""The soak of the cluster, in small."""

import pytest

from stream import bench_kafka


@pytest.mark.kafka_full
def test_a_small_soak_ends_with_the_embedded_engines_verdict(broker):
    home = getattr(broker, "home", None)
    told = bench_kafka.run(soak=True, kills=3, kafka_home=home)
    figures = {one.figure: one for one in told}
    assert figures["kill -9"].value >= 3
    assert figures["data files"].value > 5
    assert all(figure.met is not False for figure in figures.values())
