"""One page or entity as it travels between store and :func:`twiki.apply.apply`."""

import msgspec

from twiki.state.codec import Held
from twiki.state.contents import Loader
from twiki.state.layout import Id


class Subject(msgspec.Struct, frozen=True):
    """What is held of ``key``; contents are loaded by revision when they are needed."""

    key: Id
    held: Held
    load: Loader
