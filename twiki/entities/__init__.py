"""Entity JSON of Wikidata and other Wikibases, decoded to :class:`twiki.records.Entity`.

:func:`decode` takes every shape that dumps, the API, ``Special:EntityData`` and stored
revisions have had since 2012; :class:`BadEntity` says why something is no entity::

    >>> entity = decode(b'{"type":"item","id":"Q1","labels":{"en":{"language":"en","value":"a"}}}')
    >>> entity.id, entity.labels
    ('Q1', {'en': 'a'})

The package: ``shapes`` (the JSON, typed to the few fields that matter), ``reading`` (bytes to
shapes), ``decode`` (shapes to records), ``literals`` (times and quantities as people write
them), ``legacy`` (the storage format of 2012 to 2014).
"""

from twiki.entities.decode import decode
from twiki.entities.reading import BadEntity, BadReason
from twiki.entities.shapes import label

__all__ = ["BadEntity", "BadReason", "decode", "label"]
