"""Settings of the edge: section ``[stream]``, and the only place that reads the environment.

``TWIKI_CONTACT``, ``TWIKI_TOKEN`` and ``TWIKI_KAFKA_PASSWORD`` win over the file; secrets have no
place in a file.
Wikimedia's hosts refuse nameless clients (T400119), so we refuse first::

    settings = read_settings(Path("twiki.toml"))
    require_contact(settings.stream, settings.stream.url)   # ConfigError without a contact
    headers = {"User-Agent": user_agent(settings.stream)}
"""

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from twiki.config import CoreConfig, Section, WikiConfig, load
from twiki.errors import ConfigError

PAGE_CHANGE = "mediawiki.page_change.v1"
RECENT_CHANGE = "mediawiki.recentchange"

WIKIMEDIA = (
    "wikimedia.org",
    "wikipedia.org",
    "wikidata.org",
    "mediawiki.org",
    "wiktionary.org",
    "wikisource.org",
    "wikibooks.org",
    "wikiquote.org",
    "wikinews.org",
    "wikiversity.org",
    "wikivoyage.org",
    "wikifunctions.org",
)
"""Domains whose policy asks for a User-Agent with a contact."""


class StreamConfig(Section, frozen=True, kw_only=True):
    """``[stream]``: the event source, the API, and how we behave towards both."""

    url: str = "https://stream.wikimedia.org"
    streams: tuple[str, ...] = (RECENT_CHANGE, PAGE_CHANGE)
    """Read in one connection; both, because each has what the other lacks (DESIGN 6)."""
    contact: str = ""
    """Mail address, web page or ``User:`` page that says who runs this."""
    token: str = ""
    """OAuth 2 bearer token, from ``TWIKI_TOKEN``."""

    connect_seconds: float = 10.0
    read_seconds: float = 60.0
    """Silence after which the connection counts as dead: the source sends no heartbeat."""
    backoff_seconds: float = 1.0
    backoff_cap_seconds: float = 60.0
    retry_after_cap_seconds: float = 900.0
    """Longest wait that a Retry-After header may ask for."""
    attempts: int = 8
    """Tries of one request before its changes count as failed."""

    offsets_valid_seconds: float = 6 * 3600.0
    """A position older than this is resumed by timestamp: another cluster may answer."""
    resume_margin_seconds: float = 60.0
    """Step back from the timestamp when resuming by it."""
    retention_seconds: float = 7 * 86400.0
    """What the source keeps for certain; older positions need a backfill."""
    max_event_bytes: int = 8 << 20
    max_raw_bytes: int = 8 << 10
    """Bytes of a bad event kept in its dead-letter record."""
    seen_ids: int = 100_000
    """Event and revision ids remembered to drop repetitions."""
    max_gaps: int = 10_000

    batch: int = 50
    """Revisions or entities a request: the API's limit without a bot flag."""
    in_flight: int = 4
    """Requests at the same time."""
    requests_per_second: float = 5.0
    """Token bucket of each host; 0: no limit, for a server of one's own."""
    burst: int = 10
    maxlag: int = 5
    """Seconds of replication lag above which the API is left alone."""
    lag_seconds: float = 10.0
    """An announced revision that cannot be read yet is asked for again while its event is
    younger than this."""
    lag_retry_seconds: float = 1.0
    lag_attempts: int = 4
    max_answer_bytes: int = 64 << 20
    hosts: dict[str, str] = msgspec.field(default_factory=dict)
    """Base address by wiki name, where the API is not at the wiki's own (a mirror, a sandbox)."""
    api_path: str = "/w/api.php"
    entity_path: str = "/wiki/Special:EntityData"

    reorder_seconds: float = 60.0
    """Event time that the live feed waits for stragglers of the same page."""
    dwell_seconds: float = 0.0
    """Event time in which a burst on one page or entity is fetched once, as its newest."""
    sitelink_gate: bool = True
    """Entities without an article here are fetched once a window, at its close, unless an edit
    can touch their label, redirect or sitelink."""
    backfill_rows: int = 500

    def __post_init__(self) -> None:
        """Refuse values that no run could use.

        Raises:
            ValueError: which msgspec reports with the path of the value.
        """
        for name in ("batch", "in_flight", "attempts", "lag_attempts", "burst", "max_event_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("connect_seconds", "read_seconds", "backoff_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0")
        if not self.streams:
            raise ValueError("streams must name at least one stream")


class KafkaConfig(Section, frozen=True, kw_only=True):
    """``[kafka]``: the brokers, the topics, and how workers share them."""

    brokers: tuple[str, ...] = ("127.0.0.1:9092",)
    prefix: str = "twiki"
    """Begins the name of every topic and consumer group: two systems can share brokers."""
    partitions: int = 8
    """Of every topic; fixed once there is data, since keys are bound to partitions."""
    replication: int = 1
    max_record_bytes: int = 8 << 20
    """Largest record of any topic: the limit of producers, topics and fetches alike."""
    retention_days: int = 30
    """How long changes, diff sentences, facts and dead letters are kept."""
    compaction_lag_hours: int = 24
    """A record stays so long whatever came after it; hidden text goes soon after."""

    security: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    username: str = ""
    password: str = ""
    """From ``TWIKI_KAFKA_PASSWORD``."""
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    transactions: bool = True
    """The fence against zombies; False for brokers without transactions."""
    session_seconds: float = 30.0
    """A worker silent for so long loses its partitions."""
    batch_records: int = 256
    batch_seconds: float = 0.1
    """A worker commits after so many records or so much time."""
    commit_seconds: float = 1.0
    standbys: int = 0
    """Copies of each partition's state kept warm on other workers."""
    cache_bytes: int = 32 << 20
    """RocksDB's block cache, shared by the partitions of a worker."""
    metrics_host: str = "127.0.0.1"
    """Where /metrics is served; another than loopback only inside a container's own network."""
    metrics_port: int | None = None
    """Of /metrics, a process its own; 0 takes a free one, without it nothing is served."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use.

        Raises:
            ValueError: which msgspec reports with the path of the value.
        """
        for name in ("partitions", "replication", "max_record_bytes", "batch_records"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if not self.brokers:
            raise ValueError("brokers must name at least one broker, e.g. 127.0.0.1:9092")


class ServiceConfig(Section, frozen=True, kw_only=True):
    """``[service]``: what `twiki run` does by itself, and how it is watched."""

    dumps_site: str = "https://dumps.wikimedia.org"
    """Where the dump of a window's end is waited for; empty: windows are not reconciled."""
    dump_poll_seconds: float = 3600.0
    dump_layout: Literal["classic", "content"] = "classic"
    keep_dumps: bool = False
    """Keep the files of a dump when its window is reconciled."""
    correction_seconds: float = 86_400.0
    """Event time between two versions that late events make of one window."""
    suppression_seconds: float = 60.0
    """Longest time until a hidden revision's datasets are withdrawn."""
    sync_seconds: float = 5.0
    """What a power cut may cost; a kill costs nothing."""
    port: int = 9100
    """Of /healthz, /readyz and /metrics, on loopback; 0 takes a free one."""
    ready_lag_seconds: float = 900.0
    """Above this lag /readyz says no."""
    watchdog_seconds: float = 300.0
    """Without an event for so long the connection is made anew."""
    stall_seconds: float = 1800.0
    """Without a step of the engine for so long /healthz says no."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use.

        Raises:
            ValueError: which msgspec reports with the path of the value.
        """
        for name in ("dump_poll_seconds", "watchdog_seconds", "stall_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0")


class PagesConfig(Section, frozen=True, kw_only=True):
    """``[pages]``: where ``twiki serve`` shows the stream and the windows."""

    host: str = "127.0.0.1"
    """Another than a loopback address also needs ``--allow-remote``."""
    port: int = 8600
    host_names: tuple[str, ...] = ()
    """Further names in the Host header that are answered: that of a reverse proxy."""
    with_run: bool = False
    """``twiki run`` serves the pages too, from a process of their own."""


class Settings(CoreConfig, frozen=True, kw_only=True):
    """All sections of the file that the streaming commands read."""

    stream: StreamConfig = StreamConfig()
    kafka: KafkaConfig = KafkaConfig()
    service: ServiceConfig = ServiceConfig()
    pages: PagesConfig = PagesConfig()
    trainer: dict[str, Any] = msgspec.field(default_factory=dict)
    """Checked by the trainer, which the edge does not know."""


def base_url(wiki: WikiConfig, stream: StreamConfig, name: str) -> str:
    """Where the API of the wiki ``name``, the one followed or its repository, is asked."""
    own = wiki.repository_url if name == wiki.repository else wiki.url
    return stream.hosts.get(name, own)


def read_settings(
    path: Path | None = None,
    overrides: dict[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Read the file, then flags, then the environment.

    Raises:
        ConfigError: a file, name or value that cannot be used.
    """
    settings = load(path, Settings, overrides)
    named = {"contact": environ.get("TWIKI_CONTACT"), "token": environ.get("TWIKI_TOKEN")}
    stream = msgspec.structs.replace(
        settings.stream, **{name: value for name, value in named.items() if value}
    )
    kafka = settings.kafka
    if password := environ.get("TWIKI_KAFKA_PASSWORD"):
        kafka = msgspec.structs.replace(kafka, password=password)
    return msgspec.structs.replace(settings, stream=stream, kafka=kafka)


def notify_socket(environ: Mapping[str, str] = os.environ) -> str | None:
    """Where systemd listens for signs of life; None: nobody does."""
    return environ.get("NOTIFY_SOCKET") or None


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where files go that can be made again: ``XDG_CACHE_HOME``, else ``~/.cache``."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "twiki"


def user_agent(stream: StreamConfig) -> str:
    """Name, version and contact, as Wikimedia's policy asks."""
    contact = f" ({stream.contact})" if stream.contact else ""
    return f"twiki/{_version('twiki')}{contact} python-requests/{_version('requests')}"


_version = cache(version)


def require_contact(stream: StreamConfig, url: str) -> None:
    """Refuse to talk to Wikimedia without saying who we are.

    Raises:
        ConfigError: ``url`` is not http(s), or belongs to Wikimedia and there is no contact.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{url!r} is not an http or https address")
    contact = stream.contact
    if not contact.isprintable() or not contact.isascii():
        raise ConfigError("stream.contact must be printable ASCII: it travels in a header")
    named = "@" in contact or "://" in contact or contact.startswith("User:")
    if not named and is_wikimedia(parts.hostname):
        raise ConfigError(
            f"{parts.hostname} refuses clients without a contact: set TWIKI_CONTACT or "
            f"stream.contact to a mail address, web page or User: page (found {contact!r})"
        )


def is_wikimedia(host: str) -> bool:
    """Whether ``host`` is one of Wikimedia's."""
    host = host.lower().rstrip(".")
    return any(host == domain or host.endswith("." + domain) for domain in WIKIMEDIA)
