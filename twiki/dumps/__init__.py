"""Dumps of Wikimedia: files that are verified, opened, and read as a ``for`` loop.

* :mod:`twiki.dumps.files`: which files make up a dump, their checksums, their decompressed text;
* :mod:`twiki.dumps.xml`: pages and revisions of MediaWiki XML exports;
* :mod:`twiki.dumps.entities`: entities of Wikidata's JSON dumps;
* :mod:`twiki.dumps.sql`: rows of table dumps.
"""
