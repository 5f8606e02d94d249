"""``meta=siteinfo``: names of namespaces and magic words, in both format versions."""

from stream.sandbox.api_call import Answer, Call
from stream.sandbox.model import DOMAINS, ENWIKI, NAMESPACES

SITE_NAMES = {ENWIKI: "Wikipedia"}
GENERATOR = "MediaWiki 1.46.0-wmf.7"
_ALIASES = {ENWIKI: {"WP": 4, "WT": 5, "Image": 6}}


def site_info(call: Call) -> Answer:
    """The parts that ``siprop`` asks for."""
    wanted = call.values("siprop", "general")
    domain = DOMAINS[call.wiki]
    result: Answer = {}
    if "general" in wanted:
        result["general"] = {
            "mainpage": "Main Page",
            "base": f"https://{domain}/wiki/Main_Page",
            "sitename": SITE_NAMES.get(call.wiki, "Wikidata"),
            "generator": GENERATOR,
            "case": "first-letter",
            "lang": "en",
            "server": f"//{domain}",
            "servername": domain,
            "wikiid": call.wiki,
            "articlepath": "/wiki/$1",
            "scriptpath": "/w",
        }
    if "namespaces" in wanted:
        result["namespaces"] = {
            str(number): _namespace(call, number, name)
            for number, name in NAMESPACES[call.wiki].items()
        }
    if "namespacealiases" in wanted:
        key = "alias" if call.version_2 else "*"
        result["namespacealiases"] = [
            {"id": number, key: alias} for alias, number in _ALIASES.get(call.wiki, {}).items()
        ]
    if "magicwords" in wanted:
        word = {
            "name": "redirect",
            "aliases": ["#REDIRECT"],
            **call.flags(**{"case-sensitive": False}),
        }
        result["magicwords"] = [word]
    return result


def _namespace(call: Call, number: int, name: str) -> Answer:
    key = "name" if call.version_2 else "*"
    answer: Answer = {"id": number, "case": "first-letter", key: name}
    answer |= call.flags(subpages=number != 0, content=number == 0, nonincludable=False)
    return {**answer, "canonical": name} if name else answer
