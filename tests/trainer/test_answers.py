"""Answers in words, and the short training that asks for them."""

import copy
from types import SimpleNamespace

import pytest
import torch
from trainer_world import facts

from trainer import answers, lighttuning, methods, model
from trainer.dataset import ProbeRow
from trainer.methods.protocol import Plan
from trainer.model import LanguageModel

ROWS = [ProbeRow(f["subject"], f["relation"], f["object"]) for f in facts(0)]


class Speaker(torch.nn.Module):
    """Says a fixed text after any prompt."""

    def __init__(self, words, text, prompt_length):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.ids = words(text, add_special_tokens=False)["input_ids"]
        self.start, self.size = prompt_length, len(words)

    def forward(self, input_ids, **_):
        said = input_ids.shape[1] - self.start
        logits = torch.zeros(*input_ids.shape, self.size)
        logits[:, -1, self.ids[min(said, len(self.ids) - 1)]] = 1.0
        return SimpleNamespace(logits=logits)


@pytest.fixture
def language(tiny_model):
    return model.load(tiny_model)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Washington, D.C.<|endoftext|>Bo", "Washington, D.C."),
        (" Aldorp\nBo lives", "Aldorp"),
    ],
)
def test_an_answer_ends_at_the_end_token_or_line_not_at_a_full_stop(language, text, answer):
    prompt = ["Ada residence"]
    length = 1 + len(language.tokenizer(prompt[0])["input_ids"])
    speaker = LanguageModel(
        Speaker(language.tokenizer, text, length), language.tokenizer, "speaker"
    )
    assert answers.generate(speaker, prompt, new_tokens=40) == [answer]


def test_an_answer_has_all_its_tokens_however_long_the_prompt(language):
    short, long = "Ada residence", "Gus Hale who lives far away in Eastwick residence"
    together = answers.generate(language, [short, long], new_tokens=6)
    apart = [answers.generate(language, [p], new_tokens=6)[0] for p in (short, long)]
    assert together == apart


def test_an_adapter_answers_as_it_would_word_by_word(tiny_model, language):
    settings = methods.settings_for("kadapter", "recommended")
    module = methods.method("kadapter").prepare(language.module, Plan(settings, 9))
    torch.manual_seed(0)
    for p in module.norm.parameters():
        torch.nn.init.normal_(p)
    adapted = LanguageModel(module, language.tokenizer, "")
    text = answers.generate(adapted, ["Ada residence"], new_tokens=5)[0]
    ids = [language.prefix, *language.tokenizer("Ada residence")["input_ids"]]
    for _ in range(5):
        ids.append(int(module(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    said = language.tokenizer.decode(ids[-5:]).split("<|endoftext|>")[0]
    assert text == said.partition("\n")[0].strip()


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("The Aldorp!", "aldorp", 1.0),
        ("New Aldorp", "Aldorp", 2 / 3),
        ("Bo", "Aldorp", 0.0),
        ("", "Aldorp", 0.0),
        ("an b", "a b b", 2 / 3),
    ],
)
def test_f1_counts_words_as_squad_does(answer, gold, f1):
    assert answers.f1_of(answer, gold) == pytest.approx(f1)


def test_any_right_answer_counts():
    row = ProbeRow("Ada", "residence", "Aldorp", ("Aldorp", "Corvane"))
    found = answers.measure([row, ROWS[0]], ["corvane", "nowhere"])
    assert found == {"exact_match": 50.0, "f1": 50.0, "facts": 2}
    assert answers.measure([], [])["f1"] is None


def test_light_tuning_counts_the_object_and_the_end_alone(language):
    from trainer import probes

    encoded = probes.encode(language, [ROWS[0]])
    ids, labels = lighttuning._rows(encoded, language.end, 25)
    counted = [int(t) for t in labels[0] if t != -100]
    assert counted[-1] == language.end
    assert language.tokenizer.decode(counted[:-1]).strip() == ROWS[0].object
    assert ids.shape == labels.shape


def test_light_tuning_changes_every_parameter_of_a_copy_once_over_the_facts(language):
    before = copy.deepcopy(language.module.state_dict())
    tuned = lighttuning.tune(language, ROWS)
    assert all(torch.equal(v, before[n]) for n, v in language.module.state_dict().items())
    own = dict(language.module.named_parameters())
    assert not [n for n, p in tuned.module.named_parameters() if torch.equal(p, own[n])]
    again = lighttuning.tune(language, ROWS)
    again_own = dict(again.module.named_parameters())
    assert all(torch.equal(p, again_own[n]) for n, p in tuned.module.named_parameters())


def test_light_tuning_decays_matrices_alone(language, monkeypatch):
    made = []
    real = torch.optim.AdamW

    def optimizer(*given, **more):
        made.append(real(*given, **more))
        return made[-1]

    monkeypatch.setattr(torch.optim, "AdamW", optimizer)
    tuned = lighttuning.tune(language, ROWS)
    decayed = {
        id(p): group["weight_decay"] for group in made[0].param_groups for p in group["params"]
    }
    shapes = {n: (decayed[id(p)], p.ndim) for n, p in tuned.module.named_parameters()}
    assert {n for n, (decay, _) in shapes.items() if decay} == {
        n for n, (_, dimensions) in shapes.items() if dimensions > 1
    }
    assert {decay for decay, dimensions in shapes.values() if dimensions > 1} == {0.01}
    assert shapes["transformer.ln_f.weight"] == (0.0, 1)
    assert {group["lr"] for group in made[0].param_groups} == {1e-5}


def test_facts_a_forward_pass_change_no_weight_of_light_tuning(language):
    rate = lighttuning.LightTuning(lr=1e-3)
    one, other = (
        dict(lighttuning.tune(language, ROWS, rate, rows=n).module.named_parameters())
        for n in (32, 2)
    )
    own = dict(language.module.named_parameters())
    assert not any(torch.equal(p, own[n]) for n, p in one.items())
    assert all(torch.allclose(p, other[n], atol=2e-5) for n, p in one.items())


def test_light_tuning_trains_an_adapters_base_too(tiny_model, language):
    settings = methods.settings_for("kadapter", "recommended")
    module = methods.method("kadapter").prepare(language.module, Plan(settings, 9))
    with torch.no_grad():
        module.norm.weight.fill_(0.1)
    tuned = lighttuning.tune(LanguageModel(module, language.tokenizer, ""), ROWS).module
    own = dict(module.named_parameters())
    assert not [n for n, p in tuned.named_parameters() if torch.equal(p, own[n])]
    assert [n for n, p in own.items() if p.requires_grad] == model.trainable_names(module)
    assert not any(p.requires_grad for p in module.base.parameters())


def test_light_tuning_with_a_higher_rate_teaches_the_form(language):
    taught = lighttuning.tune(language, ROWS, lighttuning.LightTuning(epochs=60, lr=3e-3, batch=4))
    said = answers.generate(taught, [r.prompt for r in ROWS])
    assert answers.measure(ROWS, said)["exact_match"] > 80


def test_the_papers_light_tuning_is_one_epoch_at_1e_5():
    assert lighttuning.LightTuning() == lighttuning.LightTuning(
        epochs=1, lr=1e-5, batch=32, length=25
    )
