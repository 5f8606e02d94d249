"""``CITATION.cff``: how to cite one version of a dataset (Citation File Format 1.2.0).

There is no date of release: a dataset's bytes know no clock (L20). What identifies it is the
stable id of (wiki, window, version).
"""

from twiki.windows.card import yaml_text
from twiki.windows.manifest import Data, Run

_PAPER = """\
references:
- type: conference-paper
  title: >-
    TemporalWiki: A Lifelong Benchmark for Training and Evaluating Ever-Evolving Language Models
  authors:
  - {family-names: Jang, given-names: Joel}
  - {family-names: Ye, given-names: Seonghyeon}
  - {family-names: Lee, given-names: Changho}
  - {family-names: Yang, given-names: Sohee}
  - {family-names: Shin, given-names: Joongbo}
  - {family-names: Han, given-names: Janghoon}
  - {family-names: Kim, given-names: Gyeonghun}
  - {family-names: Seo, given-names: Minjoon}
  collection-title: "Proceedings of EMNLP 2022"
  year: 2022
  url: "https://arxiv.org/abs/2204.14211"
"""


def citation(data: Data, run: Run) -> str:
    """Return the file's text."""
    abstract = (
        f"What changed in {data.wiki} and Wikidata from {data.start.isoformat()} to "
        f"{data.end.isoformat()}: text, facts, and probes for language models."
    )
    lines = [
        "cff-version: 1.2.0",
        'message: "If you use this dataset, cite it by its id, and the paper it is made after."',
        "type: dataset",
        f"title: {yaml_text(f'TWiki {data.wiki} {data.window}')}",
        f"abstract: {yaml_text(abstract)}",
        "authors:",
        f"- name: {yaml_text(f'Contributors to {data.wiki} and Wikidata')}",
        f"version: {yaml_text(str(run.version))}",
        "identifiers:",
        "- type: other",
        f"  value: {yaml_text(run.id)}",
        '  description: "stable id of wiki, window and version"',
        "license: CC-BY-SA-4.0",
        f"url: {yaml_text(data.settings['wiki']['url'])}",
    ]
    return "\n".join(lines) + "\n" + _PAPER
