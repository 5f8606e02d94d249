"""Connections to the brokers: settings as kafka-python and Faust take them, errors in words."""

import logging
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import kafka
from kafka import errors
from kafka.admin import KafkaAdminClient

from stream.backoff import Backoff
from stream.clock import Clock
from stream.settings import KafkaConfig
from stream.topics import request_bytes
from twiki.errors import ConfigError, SourceError

log = logging.getLogger(__name__)

_FAILED = re.compile(r"failed: (.+?)(?: \(backoff .*)?$", re.DOTALL)
_LOGIN = re.compile("sasl|authentication|password|credential", re.IGNORECASE)
BOOTSTRAP_MS = 8_000
"""How long one attempt waits for a broker."""
_FETCH_BYTES = 8 << 20


def address(config: KafkaConfig) -> str:
    """The brokers, for messages."""
    return ", ".join(config.brokers)


def tls(config: KafkaConfig) -> ssl.SSLContext | None:
    """TLS as the settings ask for it; None: plain text.

    Raises:
        ConfigError: a file cannot be used.
    """
    if config.security not in ("SSL", "SASL_SSL"):
        return None
    try:
        context = ssl.create_default_context(cafile=config.ca_file)
        if config.cert_file is not None:
            context.load_cert_chain(config.cert_file, config.key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"kafka.ca_file {config.ca_file}, kafka.cert_file {config.cert_file}: {error}"
        ) from error
    return context


def connection(config: KafkaConfig) -> dict[str, Any]:
    """Keyword arguments that every client of kafka-python takes."""
    given: dict[str, Any] = {
        "bootstrap_servers": list(config.brokers),
        "bootstrap_timeout_ms": BOOTSTRAP_MS,
        "client_id": config.prefix,
        "security_protocol": config.security,
        "ssl_context": tls(config),
    }
    if config.security.startswith("SASL"):
        given |= {
            "sasl_mechanism": config.sasl_mechanism,
            "sasl_plain_username": config.username,
            "sasl_plain_password": config.password,
        }
    return given


def producer(config: KafkaConfig) -> kafka.KafkaProducer:
    """An idempotent producer that waits for all replicas.

    Raises:
        SourceError: no broker answers, or it refuses us.
    """
    with translating(config):
        return kafka.KafkaProducer(
            **connection(config),
            acks="all",
            enable_idempotence=True,
            compression_type="zstd",
            linger_ms=3,
            batch_size=1 << 20,
            max_request_size=request_bytes(config),
        )


def consumer(config: KafkaConfig, **given: Any) -> kafka.KafkaConsumer:  # noqa: ANN401 - kafka-python's own settings
    """A consumer of committed records.

    Raises:
        SourceError: no broker answers, or it refuses us.
    """
    settings = {
        "group_id": None,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed" if config.transactions else "read_uncommitted",
        "max_partition_fetch_bytes": max(_FETCH_BYTES, request_bytes(config)),
        "fetch_max_bytes": max(32 << 20, request_bytes(config)),
    }
    with translating(config):
        return kafka.KafkaConsumer(**connection(config), **(settings | given))


@contextmanager
def admin(config: KafkaConfig) -> Iterator[KafkaAdminClient]:
    """An administrator's client, closed in any case.

    Raises:
        SourceError: no broker answers, or it refuses us.
    """
    with translating(config):
        client = KafkaAdminClient(**connection(config))
    try:
        with translating(config):
            yield client
    finally:
        client.close()


def wait_for_broker(config: KafkaConfig, backoff: Backoff, clock: Clock) -> None:
    """Return when a broker answers; what a person must put right is raised at once.

    Raises:
        ConfigError: the broker refuses user or password, or TLS does not fit.
    """
    attempt = 0
    while not clock.stopped:
        try:
            with admin(config) as client:
                client.describe_cluster()
        except SourceError as error:
            wait = backoff.delay(attempt)
            log.warning("event=no_broker retry_in=%.1f reason=%s", wait, error)
            clock.sleep(wait)
            attempt += 1
        else:
            return


@contextmanager
def translating(config: KafkaConfig) -> Iterator[None]:
    """Kafka's errors as ours; the one place where they are read."""
    reasons = _Reasons()
    logger = logging.getLogger("kafka")
    logger.addHandler(reasons)
    try:
        yield
    except errors.KafkaError as error:
        raise meaning(error, config, reasons.last) from error
    finally:
        logger.removeHandler(reasons)


class _Reasons(logging.Handler):
    """Why a connection failed: kafka-python logs it, and raises a time-out that does not say."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the last reason."""
        found = _FAILED.search(record.getMessage())
        if found is not None and "KafkaTimeoutError" not in found[1]:
            self.last = found[1]


def meaning(
    error: errors.KafkaError, config: KafkaConfig, reason: str = ""
) -> SourceError | ConfigError:
    """What a Kafka error means to the one who runs the command.

    ``reason`` is why the last connection failed, where that is known.
    """
    told, where = _broker_words(error), address(config)
    unreachable = isinstance(error, errors.KafkaTimeoutError | errors.KafkaConnectionError)
    refused = isinstance(error, errors.SaslAuthenticationFailedError)
    by_login = config.security.startswith("SASL") and _LOGIN.search(reason)
    if refused or (unreachable and by_login):
        return ConfigError(
            f"{where} refuses the user {config.username!r}: {told if refused else reason}; check "
            "kafka.username, kafka.sasl_mechanism and TWIKI_KAFKA_PASSWORD"
        )
    if isinstance(error, _DENIED):
        return SourceError(
            f"{where} denies the user {config.username or 'ANONYMOUS'!r}: {told}; an ACL is missing"
            " (docs/cluster.md lists those that are needed)"
        )
    if isinstance(error, errors.InvalidReplicationFactorError):
        return SourceError(f"{where}: kafka.replication={config.replication} cannot be met: {told}")
    if unreachable:
        return SourceError(
            f"no Kafka broker answers at {where}: {reason or told}; check kafka.brokers and "
            "kafka.security"
        )
    return SourceError(f"Kafka at {where}: {told}")


_DENIED = (
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailedError,
)


def _broker_words(error: errors.KafkaError) -> str:
    """The broker's own message where the client's wraps it."""
    text = str(error)
    _, found, rest = text.partition("error_message='")
    if not found:
        _, found, rest = text.partition('error_message="')
    quote = found[-1:]
    return rest.partition(quote)[0] if found and rest else text
