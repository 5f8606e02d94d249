"""Task files for EleutherAI's lm-evaluation-harness, written beside a dataset.

::

    lm_eval --include_path DATASET/harness --tasks twiki_2026_11 --model hf --model_args …

For the changed, the unchanged and the removed probes each:

==================  ======================  =====================================================
task                request                 figures
==================  ======================  =====================================================
``_changed``        loglikelihood           perplexity and accuracy of the object after
                                            "subject relation"
``_changed_cloze``  loglikelihood           the same after a natural-language cloze, where the
                                            relation has one
``_changed_text``   loglikelihood           perplexity of the whole "subject relation object"
``_changed_f1``     generate_until          token F1 and exact match, best of all gold objects
==================  ======================  =====================================================

``_diffset`` and ``_nondiffset`` (loglikelihood_rolling) give the perplexity of texts per word
and byte. The harness's ``perplexity`` is that of a probe: the exponential of the mean of whole
objects' log-likelihoods, not of tokens.
"""

import json
import re
from importlib import resources
from pathlib import Path

from twiki.errors import OutputExists
from twiki.windows.schema import Part

FOLDER = "harness"
"""The folder of these files in a dataset."""

_MODULE = "harness_tasks"
_VERSION = 1.0
_ANSWER_TOKENS = 16


def group(window: str) -> str:
    """The harness's name of all tasks of a window: letters, digits and underscores."""
    return "twiki_" + re.sub(r"[^0-9A-Za-z]+", "_", window)


def files(window: str, data: str = "..") -> dict[str, str]:
    """Name and content of every file of the folder; ``data`` leads from it to the Parquet files.

    The content depends on the window's name alone, so the same dataset has the same files.
    """
    name = group(window)
    tasks: dict[str, str] = {}
    for part in (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.PROBES_REMOVED):
        for suffix, body in _PROBE_TASKS.items():
            task = f"{name}_{part.value.removeprefix('probes_')}{suffix}"
            tasks[task] = _task(task, part, body, prompted=suffix == "_cloze")
    for task, part in ((f"{name}_diffset", Part.DIFFSET), (f"{name}_nondiffset", Part.NONDIFF)):
        tasks[task] = _task(task, part, _TEXT_TASK)
    written = {f"{task}.yaml": content for task, content in tasks.items()}
    members = "".join(f"  - {task}\n" for task in tasks)
    written[f"{name}.yaml"] = f"group: {name}\ntask:\n{members}metadata:\n  version: {_VERSION}\n"
    written[f"{_MODULE}.py"] = (
        resources.files(__package__ or "twiki.windows").joinpath(f"{_MODULE}.py").read_text("utf-8")
    )
    written["harness.json"] = json.dumps({"data": data}) + "\n"
    return written


def write(window: str, folder: Path, data: str = "..") -> None:
    """Write the files into a new folder.

    Raises:
        OutputExists: the folder is already there.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise OutputExists(f"{folder}: already there; give another folder or remove it") from error
    for name, content in files(window, data).items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")


_LIKELIHOOD = """\
output_type: loglikelihood
metric_list:
  - metric: perplexity
    aggregation: perplexity
    higher_is_better: false
  - metric: acc
    aggregation: mean
    higher_is_better: true
"""
_PROBE_TASKS = {
    "": _LIKELIHOOD
    + """\
doc_to_text: "{{subject}} {{relation}}"
doc_to_target: "{{object}}"
""",
    "_cloze": _LIKELIHOOD
    + """\
doc_to_text: "{{cloze}}"
doc_to_target: "{{object}}"
""",
    "_text": _LIKELIHOOD
    + """\
doc_to_text: ""
target_delimiter: ""
doc_to_target: "{{subject}} {{relation}} {{object}}"
""",
    "_f1": f"""\
output_type: generate_until
doc_to_text: "{{{{subject}}}} {{{{relation}}}}"
doc_to_target: "{{{{object}}}}"
process_results: !function {_MODULE}.answer_scores
generation_kwargs:
  until:
    - "\\n"
    - "."
  max_gen_toks: {_ANSWER_TOKENS}
  do_sample: false
metric_list:
  - metric: f1
    aggregation: mean
    higher_is_better: true
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
""",
}
_TEXT_TASK = """\
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list:
  - metric: word_perplexity
    aggregation: weighted_perplexity
    higher_is_better: false
  - metric: byte_perplexity
    aggregation: weighted_perplexity
    higher_is_better: false
  - metric: bits_per_byte
    aggregation: bits_per_byte
    higher_is_better: false
"""


def _task(name: str, part: Part, body: str, *, prompted: bool = False) -> str:
    """A task file: where its rows come from, then what is asked and measured."""
    head = f"task: {name}\ncustom_dataset: !function {_MODULE}.dataset\ntest_split: test\n"
    source = f"dataset_kwargs:\n  part: {part.value}\n" + "  prompted: true\n" * prompted
    return f"{head}{source}{body}metadata:\n  version: {_VERSION}\n"
