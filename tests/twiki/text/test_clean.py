import pytest
from hypothesis import given
from wikitext import paragraph, soup

from twiki.config import TextConfig
from twiki.text.blocks import split
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo

CLEANER = Cleaner(SiteInfo.english(), TextConfig())


def shown(text, cleaner=CLEANER):
    return [(p.kind.value[0], " ".join(p.sentences)) for p in cleaner.article(text)]


def prose(text, cleaner=CLEANER):
    found = shown(text, cleaner)
    assert all(kind == "p" for kind, _ in found)
    return "\n".join(line for _, line in found)


@given(soup)
def test_cleaning_a_page_is_cleaning_its_blocks(text):
    expected = [p for block in split(text) for p in CLEANER.block(block).paragraphs]
    assert CLEANER.article(text) == expected


@given(soup)
def test_nothing_that_is_saved_breaks_cleaning(text):
    for found in CLEANER.article(text):
        assert all(s and s == s.strip() for s in found.sentences)
        assert "\x02" not in "".join(found.sentences)


@given(paragraph)
def test_plain_prose_is_kept_as_it_is(text):
    assert prose(text) == text


@given(paragraph)
def test_references_comments_images_and_categories_change_nothing(text):
    head, _, tail = text.rpartition(" ")
    marked = (
        f"[[File:a.jpg|thumb|A [[cap]] of 3.]]{head}<ref name=x>{{{{cite web|title=T 9}}}}</ref>"
        f" {tail}<ref name=y /><!-- 7 -->\n[[Category:Foo 8]]\n[[fr:Bar]]"
    )
    assert prose(marked) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("'''Ada''' was a [[poet]]s' ''friend''.", "Ada was a poets' friend."),
        ("[[A (b)|A]] [[c#d|e]] [[:Category:F]] [[:fr:G|H]]", "A e Category:F H"),
        ("[[wikt:ant|ant]] [[A (b)|]]", "ant A"),
        ("See [http://a.org the site] and [http://b.org].", "See the site and."),
        ("&lt;b&gt; &amp;amp; &#65;&#x42;&nbsp;c&copy; 5&thinsp;%", "<b> &amp; AB c© 5 %"),
        ("a &nosuch; b", "a &nosuch; b"),
        ("L'''amour'' d''un''", "L'amour dun"),
        ("it''''s bold'''", "it's bold"),
        ("10<sup>6</sup> km<sup>2</sup>, 1<sup>st</sup>", "10^6 km², 1st"),
        ("H<sub>2</sub>O, x<sup>n+1</sup>", "H2O, x^(n+1)"),
        ("A<br>B<br/>C", "A B C"),
        ("a <span style='display:none'>sortkey</span>b <small>c</small>", "a b c"),
        ("<nowiki>''x'' [[y]] {{z}}</nowiki> &", "''x'' [[y]] {{z}} &"),
        ("Energy is <math>E = mc^2</math> here.", "Energy is E = mc^2 here."),
        ("a<!-- b -->c", "ac"),
        ("A\n<!-- alone -->\nb.", "A b."),
        ("Born (; {{unknown}}; 1950) and ({{unknown}}) gone.", "Born (1950) and gone."),
        ("In x {{unknown}}, y {{unknown}}.", "In x, y."),
        ("Text.{{cn|date=May 2020}} More.{{sfn|A|2000|p=5}} End.", "Text. More. End."),
        ("__NOTOC__A __b__ c.", "A __b__ c."),
        ("5 < 6 and 7 > 3 and a <unknown> tag.", "5 < 6 and 7 > 3 and a <unknown> tag."),
        ("C++, 5 + 3 goals, −5, 3-1, 1.5, 50%, $5.", "C++, 5 + 3 goals, −5, 3-1, 1.5, 50%, $5."),
        ("A ''b [[c|''d'']]'' e", "A b d e"),
        ("{{lang|fr|mot [[d|juste]] {{nowrap|5 e}}}}", "mot juste 5 e"),
        ("Zero\u200bwidth, so\u00adft, \u202ertl\u202c, nul\x00l.", "Zerowidth, soft, rtl, null."),
        ("A <ref>x</ref>, b &amp; c ({{unknown}}) &#2;&#x202e;d.", "A, b & c d."),
        ("[[File:x.jpg|thumb|never [[closed]]", ""),
        ("[[never|closed", "closed"),
        ("{{never|closed\nA.", "A."),
        ("a]] }} b", "a b"),
        ("Lone \ud800 surrogate.", "Lone \ufffd surrogate."),
        ("שלום 5 <ref>x</ref>עולם.", "שלום 5 עולם."),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
    ],
)  # fmt: skip
def test_prose_reads_as_readers_see_it(text, clean):
    assert prose(text) == clean


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("== H ''i'' [[j]] ==\nA.", [("h", "H i j"), ("p", "A.")]),
        ("* a\n** b\n# c\nG", [("i", "a"), ("i", "b"), ("i", "c"), ("p", "G")]),
        (": d\n; e : f\n", [("i", "d"), ("i", "e"), ("i", "f")]),
        ("A\n----\nB", [("p", "A"), ("p", "B")]),
        ("A<p>B</p>C", [("p", "A"), ("p", "B"), ("p", "C")]),
        ("<ul><li>a</li><li>b</li></ul>", [("i", "a"), ("i", "b")]),
        ("A\n{|\n! x\n|-\n| y || z\n|}\nB", [("p", "A"), ("p", "B")]),
        ("A\n{|\n| never closed\n\nB", [("p", "A"), ("p", "B")]),
        ("<table><tr><td>x</td></tr></table>B", [("p", "B")]),
        ("<gallery>\nFile:a.jpg|A cap\n</gallery>B", [("p", "B")]),
        ("{{Infobox x\n| a = 5\n| b = [[c]]\n}}\n'''D''' e.", [("p", "D e.")]),
        ("{{quote|Said.|Bob}}", [("p", "Said."), ("p", "— Bob")]),
        ("<poem>a\nb</poem>", [("p", "a b")]),
        ("{{plainlist|\n* a\n* b\n}}", [("i", "a"), ("i", "b")]),
        ("A\n<ref>c</ref>\nb.", [("p", "A b.")]),
        ("A.\n{{unknown}}\nB.", [("p", "A."), ("p", "B.")]),
        ("#REDIRECT [[Foo]] {{R from move}}", []),
        ("#redirect:[[Foo]]\nText.", [("p", "Text.")]),
        ("· {{•}} –", []),
    ],
)  # fmt: skip
def test_paragraphs_items_and_headings_stand_apart(text, paragraphs):
    assert shown(text) == paragraphs


def test_unknown_templates_are_counted_by_name_and_known_ones_are_not():
    dropped = CLEANER.block(
        "{{mystery_box|a}} {{Mystery box}} {{infobox|x}} {{cn}} {{lang|fr|a}}"
    ).dropped
    assert dropped == (("Mystery box", 1), ("mystery box", 1))
    assert CLEANER.block("{{#invoke:A|b}}{{#expr:1+1}}").dropped == (("#expr", 1),)


def test_formulas_are_dropped_by_choice():
    cleaner = Cleaner(SiteInfo.english(), TextConfig(math="drop"))
    assert prose("Energy is <math>E = mc^2</math>.", cleaner) == "Energy is."


def test_language_variants_show_their_first_choice():
    site = SiteInfo(
        language="zh", namespaces={0: ""}, names={}, redirects=(), languages=frozenset(),
        variants=("zh-cn", "zh-tw"),
    )  # fmt: skip
    cleaner = Cleaner(site, TextConfig(), "zhwiki")
    text = "-{zh-tw:計程車;zh-cn:出租车}-在-{这}-里-{H|zh-cn:a;zh-tw:b}-。"
    assert prose(text, cleaner) == "計程車在这里。"


# --- reports against other tools (the numbers are those of the reference notes) -------------------


def test_18_templates_survive_many_unclosed_tags():
    assert prose("<b>" * 14 + "[[{{nowrap|x}}]]") == "x"


def test_19_image_options_do_not_leak():
    assert prose("[[File:E.jpg|thumb|135px|A cap]]Text.") == "Text."


def test_20_category_and_interlanguage_links_do_not_leak():
    assert prose("[[Category:Foo]][[de:Bar]]Text.") == "Text."


def test_21_a_reference_does_not_leak_a_conversion_does_not_vanish_cells_do_not_run_together():
    assert prose("A<ref>cite</ref> B") == "A B"
    assert prose("It is {{convert|5|km}} long.") == "It is 5 kilometres (3.1 mi) long."
    assert prose("{|\n|a||b\n|}\nText.") == "Text."


def test_22_unclosed_tags_and_quotes_in_a_template_do_not_hide_the_text():
    assert prose("{{Infobox\n|a=<li>x\n|b=''y\n}}\nText.") == "Text."
    assert prose("''a\n\nb") == "a\nb"


def test_24_numbers_in_templates_do_not_vanish():
    assert prose("{{formatnum:3}} of {{convert|1300|mi|km}}") == "3 of 1,300 miles (2,100 km)"


def test_26_an_empty_template_page_is_an_empty_text():
    assert CLEANER.article("") == []
    assert prose("a {{}} b {{ }} {{|}} c") == "a b c"


def test_27_a_template_that_calls_itself_ends():
    assert prose("{{nowrap|{{nowrap|{{nowrap|x}}}}}}") == "x"
    assert CLEANER.article("{{nowrap|" * 500 + "x" + "}}" * 500) == []


def test_p3_no_number_of_the_text_is_erased():
    assert prose("In 2021 Biden won 306 votes in the U.S. election.") == (
        "In 2021 Biden won 306 votes in the U.S. election."
    )
    assert prose("The film starred Walter Matthau &lt;b&gt; in gt; place.") == (
        "The film starred Walter Matthau <b> in gt; place."
    )
