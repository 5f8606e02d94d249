import pytest

from stream.settings import (
    Settings,
    StreamConfig,
    is_wikimedia,
    read_settings,
    require_contact,
    user_agent,
)
from twiki.errors import ConfigError


def test_the_environment_wins_over_flags_and_flags_over_the_file(tmp_path):
    path = tmp_path / "twiki.toml"
    path.write_text('[stream]\ncontact = "file@example.org"\nbatch = 20\n[trainer]\nsteps = 3\n')
    from_file = read_settings(path, environ={})
    assert (from_file.stream.contact, from_file.stream.batch) == ("file@example.org", 20)
    by_flag = read_settings(path, {"stream.contact": "flag@example.org"}, environ={})
    assert by_flag.stream.contact == "flag@example.org"
    environ = {"TWIKI_CONTACT": "env@example.org", "TWIKI_TOKEN": "t"}
    settings = read_settings(path, {"stream.contact": "flag@example.org"}, environ)
    assert (settings.stream.contact, settings.stream.token) == ("env@example.org", "t")
    assert settings.trainer == {"steps": 3}


def test_without_a_file_the_defaults_hold():
    assert read_settings(environ={}) == Settings()


@pytest.mark.parametrize(
    "line",
    ["batch = 0", "read_seconds = 0", "streams = []", "attempts = 0", "unknown = 1", "url = 5"],
)
def test_values_that_no_run_could_use_are_refused_with_their_name(tmp_path, line):
    path = tmp_path / "twiki.toml"
    path.write_text(f"[stream]\n{line}\n")
    with pytest.raises(ConfigError, match=line.split(" ", maxsplit=1)[0]):
        read_settings(path, environ={})


@pytest.mark.parametrize(
    "host",
    [
        "stream.wikimedia.org",
        "en.wikipedia.org",
        "www.wikidata.org",
        "EN.Wikipedia.ORG.",
        "wikidata.org",
    ],
)
def test_wikimedias_hosts_want_a_contact(host):
    assert is_wikimedia(host)
    with pytest.raises(ConfigError, match="TWIKI_CONTACT"):
        require_contact(StreamConfig(), f"https://{host}/x")
    for contact in ("ops@example.org", "https://example.org/bot", "User:Somebot"):
        require_contact(StreamConfig(contact=contact), f"https://{host}/x")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "notwikipedia.org", "wiki.test"])
def test_other_hosts_do_not(host):
    require_contact(StreamConfig(), f"http://{host}:8080/x")


@pytest.mark.parametrize("url", ["ftp://x", "stream.wikimedia.org", "file:///etc/passwd", ""])
def test_addresses_that_are_none_are_refused(url):
    with pytest.raises(ConfigError, match="not an http"):
        require_contact(StreamConfig(), url)


@pytest.mark.parametrize("contact", ["a@b\r\nX-Evil: 1", "ä@b"])
def test_a_contact_that_would_break_the_header_is_refused(contact):
    with pytest.raises(ConfigError, match="printable"):
        require_contact(StreamConfig(contact=contact), "http://127.0.0.1")


def test_the_user_agent_names_program_and_contact():
    agent = user_agent(StreamConfig(contact="ops@example.org"))
    assert agent.startswith("twiki/")
    assert "(ops@example.org)" in agent
