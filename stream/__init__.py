"""The edge: the live world in, twiki records out.

::

    EventStreams ─bytes─▶ Decoder ─Change─▶ Hydrator ─Revision─▶ engine
"""
