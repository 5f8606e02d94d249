import json

import pytest

from twiki.errors import ConfigError
from twiki.text.siteinfo import SiteInfo, redirect_target

ENGLISH = SiteInfo.english()
GERMAN = SiteInfo.from_json(
    json.dumps(
        {
            "query": {
                "general": {"lang": "de"},
                "namespaces": {
                    "0": {"name": "", "case": "first-letter"},
                    "6": {"name": "Datei", "canonical": "File", "case": "first-letter"},
                    "14": {"*": "Kategorie", "canonical": "Category", "case": "case-sensitive"},
                },
                "namespacealiases": [{"id": 6, "alias": "Bild"}],
                "magicwords": [
                    {"name": "redirect", "aliases": ["#WEITERLEITUNG", "#REDIRECT"]},
                    {"name": "notoc", "aliases": ["__KEIN_INHALTSVERZEICHNIS__", "__NOTOC__"]},
                    {"name": "formatnum", "aliases": ["ZAHLENFORMAT"]},
                ],
                "interwikimap": [
                    {"prefix": "fr", "language": "français"},
                    {"prefix": "wikt"},
                ],
            }
        }
    ).encode()
)


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("image:Flag.svg", (6, "Flag.svg")),
        ("File talk : x", (7, "x")),
        (":Category:Foo_bar", (14, "Foo bar")),
        ("2001: A Space Odyssey", (0, "2001: A Space Odyssey")),
        ("Plain", (0, "Plain")),
    ],
)
def test_a_title_has_a_namespace_and_the_rest(title, found):
    assert ENGLISH.namespace_of(title) == found


@pytest.mark.parametrize(
    ("title", "normal"),
    [
        ("foo__bar ", "Foo bar"),
        ("image:flag.svg", "File:Flag.svg"),
        ("WP:x", "Wikipedia:X"),
        ("caf\u0065\u0301", "Café"),
        ("ßtest", "ßtest"),
        ("ა", "ა"),
        ("Foo#Section", "Foo"),
        (":Foo", "Foo"),
        ("\u200eFoo", "Foo"),
    ],
)
def test_titles_have_one_display_form(title, normal):
    assert ENGLISH.normalise(title) == normal
    assert ENGLISH.normalise(normal) == normal


def test_names_come_from_the_wiki():
    assert GERMAN.normalise("bild:x.jpg") == "Datei:X.jpg"
    assert GERMAN.normalise("Category:klein") == "Kategorie:klein"
    assert GERMAN.namespace_of("Datei:x") == GERMAN.namespace_of("File:x") == (6, "x")
    assert "fr" in GERMAN.languages
    assert "wikt" not in GERMAN.languages
    assert "KEIN_INHALTSVERZEICHNIS" in GERMAN.switches


@pytest.mark.parametrize(
    ("site", "text", "target"),
    [
        (ENGLISH, "#REDIRECT [[foo bar#x|y]]\n{{R from move}}", "Foo bar"),
        (ENGLISH, "  #redirect:[[:Category:A]]", "Category:A"),
        (ENGLISH, "#REDIRECT[[A_b]]", "A b"),
        (ENGLISH, "#REDIRECT foo", None),
        (ENGLISH, "#REDIRECT [[#section]]", None),
        (ENGLISH, "Text #REDIRECT [[A]]", None),
        (ENGLISH, "", None),
        (GERMAN, "#WEITERLEITUNG [[ziel]]", "Ziel"),
        (GERMAN, "#Redirect [[ziel]]", "Ziel"),
        (ENGLISH, "#WEITERLEITUNG [[ziel]]", None),
    ],
)
def test_a_redirect_names_its_target(site, text, target):
    assert redirect_target(text, site) == target


@pytest.mark.parametrize("content", [b"<html>", b"{}", b"[]", b'{"query": {"general": {}}}'])
def test_what_is_no_siteinfo_is_refused(content):
    with pytest.raises(ConfigError, match="siteinfo"):
        SiteInfo.from_json(content)
