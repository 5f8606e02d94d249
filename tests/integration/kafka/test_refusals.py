"""What a broker refuses, in words; TLS, users and access rules on a real one."""

import os
import shutil
import subprocess

import msgspec
import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)

from stream.cluster import localbroker
from stream.cluster.admin import create_topics
from stream.cluster.client import producer
from twiki.errors import ConfigError, SourceError

pytestmark = [
    pytest.mark.apache("TLS, SASL and access rules"),
    pytest.mark.kafka_full,
    pytest.mark.xdist_group("secure"),
]
PASSWORD = "a-word-for-the-tests"  # noqa: S105 - of a broker that lives for a minute


@pytest.fixture(scope="module")
def secure(broker, tmp_path_factory, request):
    """A broker behind TLS, with the users ``admin`` and ``reader``; reader may do nothing."""
    if not broker.full:
        pytest.skip(f"{broker.kind} has no TLS, SASL and access rules")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    home = localbroker.find_kafka(os.environ, request.config.rootpath.parent / "shared" / "kafka")
    folder = tmp_path_factory.mktemp("secure")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"],
            *["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=127.0.0.1"],
            *["-addext", "subjectAltName=IP:127.0.0.1"],
        ],
        check=True,
        capture_output=True,
    )
    (folder / "both.pem").write_text(key.read_text() + certificate.read_text())
    broker = localbroker.ApacheKafka(home, folder / "data")
    address = f"127.0.0.1:{localbroker.free_port()}"
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'user_admin="{PASSWORD}" user_reader="{PASSWORD}";'
    )
    plain = broker._properties()
    broker.overrides |= {
        "listeners": f"{plain['listeners']},SASL_SSL://{address}",
        "advertised.listeners": f"{plain['advertised.listeners']},SASL_SSL://{address}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "both.pem"),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:ANONYMOUS",
    }
    with localbroker.running(broker):
        broker.secure = address
        broker.certificate = certificate
        yield broker


@pytest.fixture
def kafka(secure, cluster):
    """[kafka] for the secure broker as ``admin``."""
    return msgspec.structs.replace(
        cluster.config,
        brokers=(secure.secure,),
        security="SASL_SSL",
        username="admin",
        password=PASSWORD,
        ca_file=secure.certificate,
    )


def test_the_whole_path_runs_over_tls_with_a_password(cluster, kafka, embedded):
    cluster.settings = msgspec.structs.replace(cluster.settings, kafka=kafka)
    cluster.begin()
    cluster.start_all()
    cluster.wait_settled()
    cluster.check(embedded)


def test_a_wrong_password_is_the_brokers_word_and_ours(kafka):
    wrong = msgspec.structs.replace(kafka, password="wrong")
    with pytest.raises(ConfigError, match="refuses the user 'admin'.*TWIKI_KAFKA_PASSWORD"):
        create_topics(wrong)


def test_a_certificate_that_nobody_vouches_for_is_refused(kafka):
    unknown = msgspec.structs.replace(kafka, ca_file=None)
    with pytest.raises(
        SourceError, match=r"no Kafka broker answers at 127.*certificate.*kafka\.security"
    ):
        create_topics(unknown)


def test_a_missing_right_is_named_with_the_user(kafka):
    with pytest.raises(SourceError, match="denies the user 'reader'.*ACL"):
        create_topics(msgspec.structs.replace(kafka, username="reader"))


def test_a_producer_without_the_right_to_write_is_told_so(secure, kafka):
    create_topics(kafka)
    admin = KafkaAdminClient(bootstrap_servers=secure.address)
    admin.create_acls(
        [
            ACL(
                principal="User:reader",
                host="*",
                operation=ACLOperation.DESCRIBE,
                permission_type=ACLPermissionType.ALLOW,
                resource_pattern=ResourcePattern(ResourceType.TOPIC, f"{kafka.prefix}.changes"),
            )
        ]
    )
    admin.close()
    from stream.bridge import Bridge
    from stream.events import Rejected
    from stream.kinds import Reason
    from stream.settings import Settings

    reader = msgspec.structs.replace(kafka, username="reader")
    bridge = Bridge(Settings(kafka=reader), producer(reader))
    with pytest.raises(SourceError, match="denies the user 'reader'"):
        bridge.take([Rejected(reason=Reason.MALFORMED)])
