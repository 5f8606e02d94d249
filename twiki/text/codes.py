"""The functions that a rule's ``code`` may name (see :mod:`twiki.text.templates`)."""

from twiki.text import phrases, values
from twiki.text.measures import convert, cvt
from twiki.text.values import Expansion

CODES: dict[str, Expansion] = {
    function.__name__: function
    for function in (
        convert,
        cvt,
        values.fraction,
        values.value,
        values.number,
        values.date,
        values.life,
        values.age,
        values.as_of,
        values.language,
        values.last,
        values.pronunciation,
        values.ship,
        values.country,
        values.athlete,
        values.height,
        phrases.named_language,
        phrases.named_pronunciation,
        phrases.chinese,
        phrases.nihongo,
        phrases.respelling,
        phrases.music,
        phrases.percentage,
        phrases.sterling,
        phrases.gauge,
        phrases.words,
        phrases.ordinal,
        phrases.joined,
        phrases.marriage,
        phrases.named_ship,
        phrases.force,
        phrases.nation,
        phrases.harvard,
        phrases.enumeration,
        phrases.items,
        phrases.sic,
    )
}
