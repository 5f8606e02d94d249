"""``twiki serve``: read-only pages, and ``/api/v1``, over a state and datasets.

::

    state (RocksDB, secondary) ─▶ livefeed.py ─▶ now.py ──┐
    datasets (Parquet) ─▶ library.py ─▶ query.py ─────────┤
                              └─▶ index.py ─▶ search.py ──┼─▶ app.py ─▶ guard.py ─▶ browser, program
    runs, report (JSON) ─▶ models.py ─────────────────────┘

Everything shown is somebody else's text: :mod:`stream.pages.shown` is the only way out.
"""
