"""Articles as structured truth: what a reader reads, and the wikitext that says it.

Every piece of prose is held twice, side by side: ``clean``, the words on the rendered page,
and ``markup``, the wikitext. Nothing here parses wikitext, so the books need no cleaner::

    Sentence("Ada lives in Velmora.", "Ada lives in [[Velmora]].<ref>…</ref>", "P551")

``slot`` names the relation that the sentence states ("" for none).
"""

from collections.abc import Iterator
from typing import NamedTuple


class Inline(NamedTuple):
    """A run of text inside a sentence."""

    clean: str
    markup: str


class Sentence(NamedTuple):
    """One sentence; ``markup`` may end in references."""

    clean: str
    markup: str
    slot: str = ""


class Part(NamedTuple):
    """A paragraph, a list item, or bare markup (table, image) without prose."""

    sentences: tuple[Sentence, ...] = ()
    item: bool = False
    bare: str = ""

    @property
    def markup(self) -> str:
        """Its wikitext, without the line end."""
        if self.bare:
            return self.bare
        text = " ".join(sentence.markup for sentence in self.sentences)
        return f"* {text}" if self.item else text


class Section(NamedTuple):
    """A heading with what stands under it; the lead has no heading."""

    heading: str
    parts: tuple[Part, ...]
    level: int = 2


class Document(NamedTuple):
    """A whole article."""

    header: tuple[str, ...]
    infobox: str
    fields: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    footer: tuple[str, ...]

    def parts(self) -> Iterator[Part]:
        """Paragraphs and items with prose, in reading order."""
        for section in self.sections:
            for part in section.parts:
                if part.sentences:
                    yield part

    def sentences(self) -> Iterator[Sentence]:
        """All sentences in reading order; headings are none."""
        for part in self.parts():
            yield from part.sentences

    def render(self) -> str:
        """The wikitext."""
        blocks = list(self.header)
        if self.infobox:
            rows = "".join(f"| {name} = {value}\n" for name, value in self.fields)
            blocks.append(f"{{{{Infobox {self.infobox}\n{rows}}}}}")
        text = lead = "\n".join(blocks)
        for section in self.sections:
            if section.heading:
                bars = "=" * section.level
                text += f"\n\n{bars} {section.heading} {bars}"
            before_item = False
            for part in section.parts:
                # The lead follows the infobox without a blank line, as most articles have it.
                close = text == lead or (part.item and before_item)
                text += ("\n" if close else "\n\n") if text else ""
                text += part.markup
                before_item = part.item
        return text + "\n\n" + "\n".join(self.footer) + "\n"


class Redirection(NamedTuple):
    """A page that redirects."""

    target: str
    remark: str = "{{R from move}}"

    def render(self) -> str:
        """The wikitext."""
        return f"#REDIRECT [[{self.target}]]\n\n{self.remark}\n"


class RawText(NamedTuple):
    """A page outside the articles: only its wikitext matters."""

    text: str

    def render(self) -> str:
        """The wikitext."""
        return self.text


# --- inline markup whose rendering is beyond doubt ----------------------------------------


def plain(text: str) -> Inline:
    """Text as it stands; an ampersand is written as an entity."""
    return Inline(text, text.replace("&", "&amp;"))


def link(text: str, title: str | None = None) -> Inline:
    """``[[Text]]``, or ``[[Title|Text]]``."""
    shown = plain(text).markup
    return Inline(text, f"[[{shown}]]" if title in (None, text) else f"[[{title}|{shown}]]")


def bold(text: str) -> Inline:
    """``'''text'''``."""
    return Inline(text, f"'''{plain(text).markup}'''")


def italic(text: str) -> Inline:
    """``''text''``."""
    return Inline(text, f"''{plain(text).markup}''")


def nowrap(text: str) -> Inline:
    """``{{nowrap|text}}``."""
    return Inline(text, f"{{{{nowrap|{plain(text).markup}}}}}")


def foreign(text: str, language: str) -> Inline:
    """``{{lang|de|Wort}}``."""
    return Inline(text, f"{{{{lang|{language}|{text}}}}}")


CONVERSIONS = {5: "3.1", 10: "6.2", 20: "12", 50: "31", 100: "62"}
"""Kilometres and the miles that ``{{convert|N|km|mi}}`` gives for them."""


def kilometres(number: int) -> Inline:
    """``{{convert|5|km|mi}}``; ``number`` is a key of :data:`CONVERSIONS`."""
    shown = f"{number} kilometres ({CONVERSIONS[number]} mi)"
    return Inline(shown, f"{{{{convert|{number}|km|mi}}}}")


def sentence(template: str, slot: str = "", reference: str = "", **values: Inline) -> Sentence:
    """Fill ``template`` with inline values, once as words and once as wikitext."""
    clean = template.format(**{name: value.clean for name, value in values.items()})
    markup = template.format(**{name: value.markup for name, value in values.items()})
    return Sentence(clean, markup + reference, slot)


# --- changes ------------------------------------------------------------------------------


def replace_sentence(document: Document, old: Sentence, new: Sentence | None) -> Document:
    """Put ``new`` in place of the first ``old``; None takes it out, and an empty part too."""
    done = False
    sections = []
    for section in document.sections:
        parts = []
        for part in section.parts:
            if done or old not in part.sentences:
                parts.append(part)
                continue
            at = part.sentences.index(old)
            middle = () if new is None else (new,)
            changed = part.sentences[:at] + middle + part.sentences[at + 1 :]
            done = True
            if changed:
                parts.append(part._replace(sentences=changed))
        sections.append(section._replace(parts=tuple(parts)))
    return document._replace(sections=tuple(sections))


def insert_part(document: Document, section: int, index: int, part: Part) -> Document:
    """Put a part into a section at ``index``."""
    sections = list(document.sections)
    old = sections[section]
    sections[section] = old._replace(parts=(*old.parts[:index], part, *old.parts[index:]))
    return document._replace(sections=tuple(sections))


def add_sentence(document: Document, section: int, new: Sentence) -> Document:
    """Add a sentence to the end of the first paragraph of a section."""
    parts = document.sections[section].parts
    for index, part in enumerate(parts):
        if part.sentences and not part.item:
            longer = part._replace(sentences=(*part.sentences, new))
            sections = list(document.sections)
            sections[section] = sections[section]._replace(
                parts=(*parts[:index], longer, *parts[index + 1 :])
            )
            return document._replace(sections=tuple(sections))
    return insert_part(document, section, 0, Part((new,)))
