from stream import metrics
from stream.metrics import METRICS, Metrics


def test_every_metric_has_a_name_of_its_own_and_a_help():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.name.startswith(("twiki_", "process_"))
        assert metric.help.endswith(".")
        assert metric.name.endswith("_total") == (metric.kind == "counter")


def test_counting_is_by_label_and_sums():
    counted = Metrics()
    counted.add(metrics.REJECTED, label="malformed")
    counted.add(metrics.REJECTED, 2, label="other_wiki")
    assert counted.value(metrics.REJECTED) == 3
    assert counted.labels(metrics.REJECTED) == {"malformed": 1, "other_wiki": 2}
    counted.set(metrics.QUEUE, 5)
    counted.set(metrics.QUEUE, 4)
    assert counted.value(metrics.QUEUE) == 4


def test_the_text_format_escapes_labels_and_shows_zeros():
    counted = Metrics()
    counted.add(metrics.CUTS, label='a"b\\c\n')
    text = counted.render()
    assert 'twiki_stream_cuts_total{cause="a\\"b\\\\c\\n"} 1\n' in text
    assert "# TYPE twiki_offset_gaps_open gauge\ntwiki_offset_gaps_open 0\n" in text
    assert text.endswith("\n")
