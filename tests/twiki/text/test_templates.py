import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twiki.config import TextConfig
from twiki.errors import ConfigError
from twiki.text.clean import Cleaner
from twiki.text.codes import CODES
from twiki.text.siteinfo import SiteInfo
from twiki.text.templates import load, pattern

ARGUMENTS = (
    "", "0", "1", "-1", "5", "1300", "1.50", "1/2", "3+1/3", "1/0", "1e400", "1e5", "²", "٣",
    "x", "to", "-", "by", "km", "mi", "ft", "in", "lb", "C", "F", "K", "/km2", "km mi", "ftin",
    "stlb", "2001", "05", "Jan", "13", "y", "on", "or", "flip", "off", "us",
    "99999999999999999999", "R", "FRA", "a [b] c",
)  # fmt: skip
NAMED = (
    "abbr", "adj", "disp", "order", "round", "sigfig", "sp", "spell", "df", "lc", "since",
    "bare", "e", "u", "ul", "up", "p", "end", "name", "hide", "expected", "label", "lit", "m",
    "ft", "s", "l", "d",
)  # fmt: skip
CLEANER = Cleaner(SiteInfo.english(), TextConfig())


def shown(text, cleaner=CLEANER):
    return "\n".join(" ".join(p.sentences) for p in cleaner.block(text).paragraphs)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("5|km|mi", "5 kilometres (3.1 mi)"),
        ("10|km|mi", "10 kilometres (6.2 mi)"),
        ("50|km", "50 kilometres (31 mi)"),
        ("1|km", "1 kilometre (0.62 mi)"),
        ("1300|mi|km", "1,300 miles (2,100 km)"),
        ("1000|m|ft", "1,000 metres (3,300 ft)"),
        ("5|km|mi|sp=us", "5 kilometers (3.1 mi)"),
        ("5|km|mi|adj=on", "5-kilometre (3.1 mi)"),
        ("10|ft|m|adj=mid|-long", "10-foot-long (3.0 m)"),
        ("5|km|mi|abbr=on", "5 km (3.1 mi)"),
        ("5|km|mi|abbr=off", "5 kilometres (3.1 miles)"),
        ("5|to|10|km", "5 to 10 kilometres (3.1 to 6.2 mi)"),
        ("5|-|10|km|abbr=on", "5–10 km (3.1–6.2 mi)"),
        ("5|x|10|m", "5 by 10 metres (16 ft × 33 ft)"),
        ("6|ft|2|in|m", "6 feet 2 inches (1.88 m)"),
        ("178|cm|ftin", "178 centimetres (5 ft 10 in)"),
        ("160|lb|kg st", "160 pounds (73 kg; 11 st)"),
        ("100|lb|kg|0", "100 pounds (45 kg)"),
        ("1+1/2|in|mm", "1 1/2 inches (38 mm)"),
        ("10|km|mi|disp=or", "10 kilometres or 6.2 miles"),
        ("10|km|mi|order=flip", "6.2 miles (10 km)"),
        ("10|km|mi|disp=out", "6.2 mi"),
        ("5|km2", "5 square kilometres (1.9 sq mi)"),
        ("2|acre", "2 acres (0.81 ha)"),
        ("30|mph|km/h", "30 miles per hour (48 km/h)"),
        ("20|C", "20 °C (68 °F)"),
        ("-40|C", "−40 °C (−40 °F)"),
        ("100|C|F", "100 °C (212 °F)"),
        ("52|/km2", "52/km² (130/sq mi)"),
        ("5|mi|km|spell=in", "five miles (8.0 km)"),
        ("7|foo", "7 foo"),
        ("many|km", "km"),
        ("1e9999|km", "km"),
        ("0|km", "0 kilometres (0 mi)"),
        ("1/0|km", "km"),
    ],
)
def test_convert_gives_the_measure_and_the_other_one(call, text):
    assert shown(f"{{{{convert|{call}}}}}") == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("cvt|5|km", "5 km (3.1 mi)"),
        ("val|1.5|0.1|e=6|u=m", "1.5±0.1×10^6 m"),
        ("frac|3|1|2", "3 1/2"),
        ("formatnum:1234567.8", "1,234,567.8"),
        ("formatnum:1,234|R", "1234"),
        ("nts|1234", "1,234"),
        ("as of|2010|5", "As of May 2010"),
        ("As of|2010|lc=y", "as of 2010"),
        ("circa|1900", "c. 1900"),
        ("reign|1800|1810", "r. 1800–1810"),
        ("age|1952|3|11|2001|5|11", "49"),
        ("age|1952|3|11", ""),
        ("start date|2001|05|10", "May 10, 2001"),
        ("birth date and age|1990|1|2|df=y", "2 January 1990"),
        ("death date and age|2001|5|11|1952|3|11", "May 11, 2001 (aged 49)"),
        ("OldStyleDate|5 March|1700|22 February", "5 March [O.S. 22 February] 1700"),
        ("lang|ru|Москва", "Москва"),
        ("lang-ru|Москва", "Russian: Москва"),
        ("langx|fr|mot|lit=word", "French: mot, lit. 'word'"),
        ("transliteration|ru|ISO|Moskva", "Moskva"),
        ("nihongo|Tokyo|東京|Tōkyō", "Tokyo (東京, Tōkyō)"),
        ("zh|s=北京|p=Běijīng", "simplified Chinese: 北京; pinyin: Běijīng"),
        ("ill|Foo|de|Fü", "Foo"),
        ("ill|Foo|de|lt=bar", "bar"),
        ("IPAc-en|ˈ|l|ʌ|n|d|ən", "/ˈlʌndən/"),
        ("IPA-fr|paʁi", "French pronunciation: [paʁi]"),
        ("respell|LUN|dən", "LUN-dən"),
        ("abbr|UN|United Nations", "UN"),
        ("sic|teh", "teh [sic]"),
        ("sic|hide=y|teh", "teh"),
        ("ship|HMS|Victory|1765", "HMS Victory (1765)"),
        ("HMS|Victory|1765|6", "HMS Victory"),
        ("flag|FRA", "France"),
        ("flagicon|FRA", ""),
        ("US$|1.5 million", "US$1.5 million"),
        ("chem|H|2|O", "H2O"),
        ("nowrap|B{{music|flat}} major", "B♭ major"),
        ("hlist|a|b", "a, b"),
        ("marriage|Ann Lee|1950|1960|end=div", "Ann Lee (m. 1950; div. 1960)"),
        ("track gauge|1435mm", "1,435 mm"),
        ("ordinal|22", "22nd"),
        ("harvtxt|Boolos|Jeffrey|1974|p=3", "Boolos & Jeffrey (1974)"),
        ("FRA", "France"),
        ("ESP", "Spain"),
        ("nowrap|3{{esp|6}}", "3×10^6"),
        ("#if: x | yes | no", "yes"),
        ("#if: | yes | no", "no"),
        ("#ifeq: 1 | 1.0 | same | other", "same"),
        ("#switch: b | a = 1 | b | c = 2 | #default = 3", "2"),
        ("lc:ABC", "abc"),
        ("PLURAL:1|page|pages", "page"),
        ("#tag:ref|x", ""),
        ("DEFAULTSORT:Foo, Bar", ""),
        ("subst:nowrap|x", "x"),
        ("Template:Nowrap|x", "x"),
        ("nowrap|1=a=b", "a=b"),
        ("nowrap|[[a|b]] {{lang|fr|c}}", "b c"),
        ("no_wrap | x ", "x"),
    ],
)
def test_an_inline_template_reads_as_on_the_page(call, text):
    assert shown(f"{{{{{call}}}}}") == text


@settings(max_examples=500)
@given(
    st.sampled_from(sorted(CODES)),
    st.lists(st.sampled_from(ARGUMENTS) | st.text(max_size=8), max_size=8),
    st.dictionaries(st.sampled_from(NAMED), st.sampled_from(ARGUMENTS), max_size=4),
)
def test_no_parameters_break_a_computed_template(code, unnamed, named):
    parameters = {"0": "lang-fr"} | {str(n): v for n, v in enumerate(unnamed, 1)} | named
    assert isinstance(CODES[code](parameters), str)


def test_no_call_grows_beyond_what_was_written():
    call = "{{convert|" + "1|x|" * 20_000 + "2|" + "u" * 20_000 + "}}"
    assert len(shown(call)) < len(call)
    assert len(shown("{{convert|" + "1|x|" * 20_000 + "2|m}}")) < 500


def test_punctuation_templates_stand_in_their_sentence():
    assert shown("a{{snd}}b, c{{ndash}}d, {{'}}e{{'s}}, {{=}}, {{!}}") == "a – b, c–d, 'e's, =, |"


def test_own_templates_go_over_the_built_in_ones(tmp_path):
    table = tmp_path / "templates.toml"
    table.write_text(
        '[[rule]]\nnames = "mood | Moo_d2"\ntext = "{1}[ ({2|alt})]{*:+}"\n'
        '[[rule]]\nnames = "nowrap"\ntext = "<{1}>"\n'
        '[[rule]]\nnames = "elsewhere"\nwikis = ["de", "frwiki"]\ntext = "x"\n'
        '[[rule]]\nnames = "*-box"\ndrop = true\n'
    )
    cleaner = Cleaner(SiteInfo.english(), TextConfig(templates=table))
    assert shown("{{mood|a|b}} {{moo d2|c|alt=d}} {{nowrap|e}}", cleaner) == "a (b)a+b c (d)c <e>"
    assert cleaner.block("{{elsewhere}}{{good-box}}").dropped == (("elsewhere", 1),)


@pytest.mark.parametrize(
    "content",
    [
        '[[rule]]\nnames = "a"\n',
        '[[rule]]\nnames = "a"\ntext = "["\n',
        '[[rule]]\nnames = "a"\ntext = "]"\n',
        '[[rule]]\nnames = "a"\ntext = "{"\n',
        '[[rule]]\nnames = "a"\ncode = "nonsense"\n',
        '[[rule]]\nnames = "a"\ntext = "b"\ndrop = true\n',
        '[[rule]]\nnmes = "a"\n',
        "not toml",
    ],
)
def test_a_wrong_table_is_refused_and_named(tmp_path, content):
    table = tmp_path / "mine.toml"
    table.write_text(content)
    with pytest.raises(ConfigError, match=r"mine\.toml"):
        load(language="en", wiki="enwiki", extra=table)


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml"):
        load(language="en", wiki="enwiki", extra=tmp_path / "absent.toml")


def test_an_optional_part_stands_only_with_its_parameters():
    expand = pattern(r"{1}[ \[{2}[, {3}]\]]")
    assert expand({"1": "a"}) == "a"
    assert expand({"1": "a", "2": "b"}) == "a [b]"
    assert expand({"1": "a", "2": "b", "3": "c"}) == "a [b, c]"
    assert expand({"1": "a", "3": "c"}) == "a"
