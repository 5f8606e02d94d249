from stream.bench_sse import run


def test_the_decode_rate_is_measured_beside_its_budget():
    [figure] = run(events=200)
    assert figure.unit == "events/s"
    assert figure.budget == 50_000
    assert figure.value > 0
    assert figure.peer > 0
