import pytest

from stream.settings import read_settings

collect_ignore_glob = []
try:
    import kafka  # noqa: F401
except ModuleNotFoundError:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def settings():
    return read_settings(None, {"kafka.partitions": 3, "kafka.max_record_bytes": 20_000}, {})
