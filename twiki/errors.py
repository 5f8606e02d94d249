"""Every error that a command ends with, as one tree.

::

    TwikiError
    ├── UsageError           the request itself is wrong (exit code 2)
    ├── ConfigError          the settings file or a value in it
    ├── DumpError            a dump that is damaged, incomplete, or not what it says
    │   └── ChecksumError
    ├── StateError           the RocksDB folder
    │   ├── StateLocked      another process has it open
    │   ├── StateVersionError    written by another schema version
    │   └── StateCorrupt
    ├── CleanError           a page that breaks its bound of time or memory
    ├── DatasetError         a dataset folder that breaks its contract
    │   ├── OutputExists
    │   └── EmptyProbes      candidates for probes of which none passed
    ├── SourceError          the stream or the API cannot be used at all
    ├── EngineError          the engine cannot go on: disk full, a window out of order
    └── TrainerError         model, tokenizer, checkpoint or training

Each message names the file or address, what was expected, what was found, and what to do.
Bad *input events* are not errors but values: see ``Rejected`` in ``stream.events`` and the
dead-letter records of ``twiki.apply``.
"""


class TwikiError(Exception):
    """Base: the command prints the message and exits with ``exit_code``."""

    exit_code = 1


class UsageError(TwikiError):
    """Wrong use of a command."""

    exit_code = 2


class ConfigError(TwikiError):
    """A settings file that cannot be used."""


class DumpError(TwikiError):
    """A dump file that is damaged, incomplete, or not what it says."""


class ChecksumError(DumpError):
    """A file whose checksum differs from the one published for it."""


class StateError(TwikiError):
    """A state folder that cannot be used."""


class StateLocked(StateError):
    """Another process has the state open.

    Operator: stop that process, or work on a backup (``twiki state backup``).
    """


class StateVersionError(StateError):
    """State of another schema version.

    Operator: run ``twiki state migrate``, or bootstrap a new folder.
    """


class StateCorrupt(StateError):
    """RocksDB or our own decoding refuses the bytes.

    Operator: restore the last backup into an empty folder; the stream catches up.
    """


class CleanError(TwikiError):
    """A page that cannot be cleaned within its bound of time or memory: a dead letter."""


class DatasetError(TwikiError):
    """A dataset folder that breaks its contract."""


class OutputExists(DatasetError):
    """The output folder is already there; nothing was written."""


class EmptyProbes(DatasetError):
    """Facts changed or were sampled, and not one became a probe.

    Operator: the counts in the message say which rule took them. ``no_article``: entities and
    articles are of different wikis; ``no_label``: no label in the languages of the settings.
    """


class SourceError(TwikiError):
    """The event stream or the API cannot be used at all."""


class EngineError(TwikiError):
    """The engine cannot go on."""


class TrainerError(TwikiError):
    """A model, tokenizer, checkpoint or training that cannot be used."""
