"""Whatever comes, the decoder gives a value; every real event is decoded or says why not."""

import json

import pytest
from event_samples import ALONE, DATA, decode, log, page_change, rc
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import Canary, Decoder, Rejected
from twiki.config import WikiConfig
from twiki.records import Change

# --- laws -----------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    base=st.sampled_from(
        [
            rc(),
            page_change(),
            page_change("move"),
            log("move/move", {"target": "B"}),
            log("delete/revision", {"type": "revision", "ids": ["1"], "nfield": "1"}),
        ]
    ),
    changes=st.dictionaries(
        st.sampled_from(
            [
                "meta",
                "type",
                "namespace",
                "title",
                "timestamp",
                "revision",
                "wiki",
                "log_params",
                "log_type",
                "log_action",
                "page",
                "dt",
                "prior_state",
                "page_change_kind",
                "comment",
            ]
        ),
        json_values,
        max_size=4,
    ),
)
def test_no_json_makes_the_decoder_raise(base, changes):
    result = decode(json.dumps({**base, **changes}).encode("utf-8", "surrogatepass"))
    assert isinstance(result, Change | Canary | Rejected)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_decoder_raise(data):
    assert isinstance(decode(data), Rejected | Canary)


# --- real events ----------------------------------------------------------------------------


def real_events():
    folder = DATA / "events"
    if not folder.exists():
        pytest.skip(f"{folder} is missing")
    for path in sorted(folder.rglob("*.json*")):
        data = path.read_bytes()
        try:
            whole = json.loads(data)
        except ValueError:
            for line in data.splitlines():
                if line.strip():
                    yield path.name, line
            continue
        for item in whole if isinstance(whole, list) else [whole]:
            yield path.name, json.dumps(item.get("data", item)).encode()


def test_every_real_event_decodes_or_is_rejected_with_a_reason():
    decoders = [
        Decoder(),
        Decoder(WikiConfig(), ALONE),
        Decoder(WikiConfig(name="commonswiki", repository="testwikidatawiki", namespaces="all")),
    ]
    count = 0
    for _, data in real_events():
        count += 1
        for decoder in decoders:
            assert isinstance(decoder.decode(data), Change | Canary | Rejected)
    assert count > 1900


def test_the_only_dead_letters_among_the_real_events_are_other_systems():
    decoder = Decoder(WikiConfig(), ALONE)
    names = {
        name
        for name, data in real_events()
        if isinstance(result := decoder.decode(data), Rejected) and result.reason.dead_letter
    }
    assert names == {
        "failures.json", "inconsistencies.json", "late-events.json",
        "reconcile-creation.json", "reconcile-creation-unrelated-source.json",
        "create-event.json", "create-event-ms.json", "rc-domain.json", "rc-namespace.json",
    }  # fmt: skip
