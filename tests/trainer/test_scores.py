"""Perplexity as it is defined: from sums, whatever the batch, the padding and the order."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from trainer_world import facts, sentences

from trainer import model, probes, tokenizer
from trainer.dataset import ProbeRow
from trainer.model import LanguageModel
from trainer.scores import Scores, averages, log_ratio, rolling, token_nll


@pytest.fixture(scope="module", params=["tiny_model", "llama_model"])
def language(request):
    return model.load(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def rows():
    long = ProbeRow("Gus Hale who lives far away in Eastwick", "residence", "Farholt on Sea")
    return [ProbeRow(f["subject"], f["relation"], f["object"]) for f in facts(0)] + [long]


def test_a_model_that_knows_nothing_has_the_vocabularys_size_as_perplexity(language, rows):
    size = len(language.tokenizer)

    class Uniform(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, input_ids, **_):
            return SimpleNamespace(logits=torch.zeros(*input_ids.shape, size))

    uniform = LanguageModel(Uniform(), language.tokenizer, "uniform")
    found = probes.score(uniform, rows)
    assert found.object.perplexity == pytest.approx(size)
    assert found.whole.perplexity == pytest.approx(size)
    assert found.whole.per_instance == pytest.approx(size)


@pytest.mark.parametrize("batch", [1, 3, 8])
@pytest.mark.parametrize("padding", ["right", "left"])
def test_neither_batch_nor_padding_side_changes_a_score(language, rows, batch, padding):
    expected = probes.score(language, rows, batch=2)
    found = probes.score(language, rows, batch=batch, padding=padding)
    assert found.whole.nll == pytest.approx(expected.whole.nll, abs=1e-4)
    assert found.object.nll == pytest.approx(expected.object.nll, abs=1e-4)


def test_order_changes_no_score(language, rows):
    forwards = probes.score(language, rows).object.nll
    assert probes.score(language, rows[::-1]).object.nll[::-1] == pytest.approx(forwards, abs=1e-4)


def test_the_first_token_is_scored_after_exactly_one_begin_token(language):
    ids = tokenizer.encode(language.tokenizer, ["Ada Bern"])[0]
    encoded = probes.encode(language, [ProbeRow("Ada", "Bern", "x")])[0]
    assert encoded.ids.count(language.prefix) == 1
    nll = token_nll(language, [(language.prefix, *ids)])[0]
    assert len(nll) == len(ids)
    logits = model.forward(language.module, torch.tensor([[language.prefix]]))[0, 0]
    assert nll[0] == pytest.approx(-float(logits.log_softmax(-1)[ids[0]].detach()), abs=1e-5)


def test_one_token_of_text_has_a_finite_perplexity(language):
    nll = token_nll(language, [(language.prefix, 5)])[0]
    assert nll.shape == (1,)
    assert np.isfinite(nll).all()


def test_scores_are_those_of_a_plain_loop(language, rows):
    found = probes.score(language, rows).whole
    for row, nll in zip(rows, found.nll, strict=True):
        ids = [language.prefix, *tokenizer.encode(language.tokenizer, [row.text])[0]]
        with torch.no_grad():
            logits = language.module(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected = -sum(float(logits[i, t]) for i, t in enumerate(ids[1:]))
        assert nll == pytest.approx(expected, abs=1e-3)


def test_perplexity_is_weighted_by_tokens_not_by_batches_or_facts():
    scores = Scores(
        nll=np.array([1.0, 30.0]), tokens=np.array([1.0, 3.0]), bytes=np.array([4.0, 8.0])
    )
    assert scores.perplexity == pytest.approx(math.exp(31 / 4))
    assert scores.per_instance == pytest.approx(math.exp((1 + 10) / 2))
    assert scores.bits_per_byte == pytest.approx(31 / math.log(2) / 12)


def test_instances_without_a_scored_token_are_left_out_not_nan():
    scores = Scores(nll=np.array([0.0, 2.0]), tokens=np.array([0.0, 1.0]), bytes=np.zeros(2))
    assert len(scores) == 1
    assert scores.perplexity == pytest.approx(math.exp(2))
    assert scores.bits_per_byte is None
    low, high = scores.interval(samples=50)
    assert low == high == pytest.approx(math.exp(2))


def test_nothing_scored_is_none_everywhere():
    empty = Scores(np.empty(0), np.empty(0), np.empty(0))
    summary = empty.summary()
    assert summary["perplexity"] is None
    assert summary["low"] is None
    assert averages(None, 2.0) == {"arithmetic": None, "geometric": None}
    assert averages(2.0, 8.0) == {"arithmetic": 5.0, "geometric": 4.0}


def test_intervals_hold_the_value_and_narrow_with_more_facts():
    random = np.random.default_rng(0)

    def width(count):
        nll = random.normal(3, 1, count).clip(0.1)
        scores = Scores(nll, np.ones(count), np.ones(count))
        low, high = scores.interval(seed=1)
        assert low < scores.perplexity < high
        return math.log(high / low)

    assert width(1600) < width(100) / 2


def test_a_paired_interval_sees_a_small_difference_that_all_facts_share():
    random = np.random.default_rng(0)
    nll = random.normal(5, 3, 200).clip(0.1)
    one = Scores(nll + 0.2, np.ones(200), np.ones(200))
    other = Scores(nll, np.ones(200), np.ones(200))
    value, low, high = log_ratio(one, other)
    assert value == pytest.approx(0.2)
    assert 0.19 < low <= high < 0.21
    with pytest.raises(ValueError, match="same instances"):
        log_ratio(one, Scores(nll[:3], np.ones(3), np.ones(3)))


@pytest.mark.parametrize("length", [1, 4, 7, 64])
@pytest.mark.parametrize("count", [1, 4, 5, 23])
def test_rolling_scores_every_token_once_in_rows_that_fit(length, count):
    ids = list(range(100, 100 + count))
    pieces = rolling(ids, 1, length)
    scored = [t for p in pieces for t in p.ids[len(p.ids) - p.scored :]]
    assert scored == ids
    assert all(len(p.ids) - 1 <= length for p in pieces)
    assert sum(p.ids.count(1) for p in pieces) == 1


@pytest.mark.parametrize("stride", [None, 1, 3, 8])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 10, 11, 12, 30])
def test_rolling_is_lm_evaluation_harness_own(count, stride):
    utils = pytest.importorskip("lm_eval.utils", reason="lm-eval is not installed")
    ids = list(range(100, 100 + count))
    context = 8 - (stride or 8) + 1
    theirs = utils.get_rolling_token_windows(ids, 1, max_seq_len=8, context_len=context)
    expected = [((*a, b[-1]), len(b)) for a, b in theirs]
    assert [(p.ids, p.scored) for p in rolling(ids, 1, 8, stride)] == expected


@pytest.fixture(scope="module")
def documents():
    """Twenty documents, shorter than a row, as long, and longer."""
    every = [text for shift in range(3) for text in sentences(shift)]
    return [" ".join(every[:3]), " ".join(every), "Ada", *every[:17]]


@pytest.mark.parametrize("stride", [5, 16])
def test_text_perplexity_with_a_stride_is_that_of_the_harness_windows(language, documents, stride):
    utils = pytest.importorskip("lm_eval.utils", reason="lm-eval is not installed")
    from trainer import intrinsic

    nll, tokens = [], []
    for ids in tokenizer.encode(language.tokenizer, documents):
        windows = utils.get_rolling_token_windows(
            ids, language.prefix, max_seq_len=24, context_len=24 - stride + 1
        )
        total, scored = 0.0, []
        for read, targets in windows:
            with torch.no_grad():
                logits = language.module(input_ids=torch.tensor([read])).logits[0].log_softmax(-1)
            last = logits[-len(targets) :]
            total -= sum(float(last[i, t]) for i, t in enumerate(targets))
            scored += targets
        assert scored == ids
        nll.append(total)
        tokens.append(len(scored))
    found = intrinsic.score(language, documents, length=24, stride=stride).all
    assert len(documents) == 20
    assert found.tokens.tolist() == tokens
    assert found.nll.tolist() == pytest.approx(nll, rel=1e-5)
    assert found.nll.sum() == pytest.approx(sum(nll), rel=1e-6)


def test_text_perplexity_equals_lm_evaluation_harness(language, documents):
    pytest.importorskip("lm_eval", reason="lm-eval is not installed")
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    from trainer import intrinsic

    harness = HFLM(
        pretrained=language.module,
        tokenizer=language.tokenizer,
        max_length=48,
        batch_size=2,
        device="cpu",
    )
    requests = [
        Instance(request_type="loglikelihood_rolling", doc={}, arguments=(t,), idx=0)
        for t in documents
    ]
    theirs = harness.loglikelihood_rolling(requests, disable_tqdm=True)
    ours = intrinsic.score(language, documents, length=48).all
    assert len(theirs) == 20
    assert [-v for v in theirs] == pytest.approx(ours.nll.tolist(), rel=1e-5)
    perplexity = math.exp(-sum(theirs) / ours.tokens.sum())
    assert ours.perplexity == pytest.approx(perplexity, rel=1e-5)


def test_the_references_own_figure_depends_on_the_batch_ours_does_not(language, rows):
    theirs = {probes.reference_batch_mean(language, rows, batch=b) for b in (1, 8)}
    assert max(theirs) / min(theirs) > 1.0001
    ours = {round(probes.score(language, rows, batch=b).whole.perplexity, 3) for b in (1, 8)}
    assert len(ours) == 1
    assert probes.reference_batch_mean(language, []) is None
    whole = probes.reference_batch_mean(language, rows)
    assert probes.reference_batch_mean(language, rows, rows=3) == pytest.approx(whole, rel=1e-5)


def test_the_references_own_figure_is_a_mean_of_batch_means_after_a_pad(tiny_model):
    language = model.load(tiny_model)
    rows = [ProbeRow("Ada Bern", "residence", "Aldorp"), ProbeRow("Bo", "residence", "Corvane")]
    means = []
    for row in rows:
        ids = tokenizer.encode(language.tokenizer, [row.text])[0]
        pads = 12 - len(ids)
        padded = torch.tensor([[language.end] * pads + ids])
        mask = torch.tensor([[0] * pads + [1] * len(ids)])
        with torch.no_grad():
            logits = model.forward(language.module, padded, mask=mask)[0].log_softmax(-1)
        # The first token is predicted from the last pad, and positions count from the pads.
        nll = [-float(logits[pads + i - 1, token]) for i, token in enumerate(ids)]
        means.append(sum(nll) / len(nll))
    found = probes.reference_batch_mean(language, rows, batch=1, length=12)
    assert found == pytest.approx(math.exp(sum(means) / 2), rel=1e-5)


def test_gpt2s_positions_must_shift_with_left_padding(tiny_model, rows):
    language = model.load(tiny_model)
    ids = torch.tensor([[language.end, language.end, 7, 8, 9]])
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    with torch.no_grad():
        expected = model.forward(language.module, torch.tensor([[7, 8, 9]]))[0, -1]
        shifted = (mask.cumsum(1) - 1).clamp(min=0)
        right = model.forward(language.module, ids, mask=mask, positions=shifted)[0, -1]
        wrong = model.forward(language.module, ids, mask=mask)[0, -1]
    assert torch.allclose(right, expected, atol=1e-5)
    assert not torch.allclose(wrong, expected, atol=1e-3)
