"""Strategies for wikitext: prose mixed with markup, closed and not."""

from hypothesis import strategies as st

PIECES = (
    "{{", "}}", "[[", "]]", "{|", "|}", "\n{|\n", "\n|}\n", "<!--", "-->",
    "<ref>", "</ref>",
    "<ref name=a />", "<nowiki>", "</nowiki>", "<math>", "</math>", "<gallery>", "</gallery>",
    "<table>", "</table>", "<div>", "</div>", "|", "=", "\n", "\n\n", "\n \n", "\n* ", "\n# ",
    "\n: ", "\n; ", "\n== H ==\n", "=", "''", "'''", "[http://a.org b]", "&nbsp;", "&lt;", "{", "}",
    "[", "]", "<", ">", "a", "B", " ", ". ",
    "One two. ", "Three 4.5 six! ", "é", "漢字。", "\u202e",
    "{{a|b}}", "{{lang|fr|mot}}", "[[c]]", "[[d|e]]", "[[File:x.jpg|thumb|f [[g]] h]]",
    "{{infobox\n| k = v\n\n| l = [[m]]\n}}", "<ref>{{cite|t=u}}</ref>", "\n----\n", "__NOTOC__",
    "<br>", "{{{1|x}}}", "{{convert|5|km|mi}}", "\x00", "\ud800",
)  # fmt: skip

soup = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
"""Anything that an editor may save."""

CALM = (
    "Word one. ", "\n\n", "\n* ", "\n== H ==\n", "[[a]]", "{{b|\n\n}}", "<ref>\n\n</ref>", "text ",
    "{{c}}", "\n", "\n{|\n|a\n\n|}\n", "<!--\n\n-->", "<table>\n\n</table>",
)  # fmt: skip
calm = st.lists(st.sampled_from(CALM), max_size=30).map("".join)
"""Markup that is closed as it should be."""

words = st.sampled_from(["ant", "Bee", "cat 5", "1.5", "Élan", "U.S.", "dog", "eel's"])
sentence = st.lists(words, min_size=1, max_size=6).map(lambda w: " ".join(w).capitalize() + ".")
paragraph = st.lists(sentence, min_size=1, max_size=4).map(" ".join)
