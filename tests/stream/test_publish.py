"""Publishing to a folder and to a stand-in of the hub's HTTP API."""

import base64
import hashlib
import json
import re
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import typer
import yaml
from typer.testing import CliRunner

from stream.hub import HubTarget
from stream.publish import FolderTarget, plan
from twiki.cli.publish import register
from twiki.config import CoreConfig, WikiConfig
from twiki.errors import DatasetError, OutputExists, SourceError, UsageError
from twiki.windows import catalog
from twiki.windows.calendar import month
from twiki.windows.dataset import Dataset, DatasetWriter, Part, Run
from twiki.windows.schema import SentenceRow

TIME = datetime(2026, 11, 5, tzinfo=UTC)
TOKEN = "hf_secret"  # noqa: S105 - of the stand-in


def write(root, window="2026-11", text="It opened.", wiki="testwiki", **finish):
    config = CoreConfig(wiki=WikiConfig(name=wiki))
    row = SentenceRow(
        id=1,
        title="T",
        ordinal=0,
        text=text,
        kind="added",
        replaced=None,
        cosmetic=False,
        block=0,
        paragraph=0,
        old_rev=1,
        new_rev=2,
        new_timestamp=TIME,
    )
    with DatasetWriter(root, config, month(window)) as writer:
        writer.add(Part.SENTENCES, row)
        return Dataset.open(writer.finish(run=Run(engine="replay"), **finish))


def publish(dataset, target):
    planned = plan(dataset, target)
    return None if planned.empty else target.change(planned)


# --- a folder -------------------------------------------------------------------------------


def test_a_collection_in_a_folder_is_read_like_any_root_of_datasets(tmp_path):
    first = write(tmp_path / "own", "2026-10")
    second = write(tmp_path / "own", "2026-11")
    out = tmp_path / "out"
    for dataset in (first, second):
        publish(dataset, FolderTarget(out))
    copied = Dataset.open(out / "testwiki/2026-11")
    copied.verify()
    assert copied.id == "twiki-testwiki-2026-11-v1"
    cited = yaml.safe_load((out / "CITATION.cff").read_text())
    assert cited["identifiers"][0]["value"] == copied.id
    assert cited["cff-version"] == "1.2.0"


def test_the_card_of_the_collection_configures_each_window_with_the_newest_first(tmp_path):
    out = tmp_path / "out"
    for window in ("2026-11", "2026-10"):
        publish(write(tmp_path / "own", window), FolderTarget(out))
    configs = yaml.safe_load((out / "README.md").read_text().split("---\n")[1])["configs"]
    assert len(configs) == 2 * len(Part)
    assert configs[0]["config_name"] == "20261101-20261201_diffset"
    assert [c["config_name"] for c in configs if c.get("default")] == [configs[0]["config_name"]]
    assert all((out / c["data_files"][0]["path"]).exists() for c in configs)


def test_publishing_again_changes_nothing(tmp_path):
    dataset, target = write(tmp_path / "own"), FolderTarget(tmp_path / "out")
    publish(dataset, target)
    assert plan(dataset, target).add == {}


def test_a_withdrawn_version_leaves_the_collection_and_stays_listed(tmp_path):
    target = FolderTarget(tmp_path / "out")
    old = write(tmp_path / "own", text="hidden")
    publish(old, target)
    new = write(tmp_path / "own", withdraws="revision 2 was hidden")
    assert plan(new, target).delete == ("testwiki/2026-11/v1",)
    publish(new, target)
    assert not (tmp_path / "out/testwiki/2026-11/v1").exists()
    entries = catalog.decode((tmp_path / "out/catalog.json").read_bytes(), "").entries
    assert [(e.version, e.status, e.reason) for e in entries] == [
        (1, "withdrawn", "revision 2 was hidden"),
        (2, "current", ""),
    ]
    assert Dataset.open(tmp_path / "out/testwiki/2026-11").id.endswith("v2")
    with pytest.raises(DatasetError, match="withdrawn, it must not be passed on"):
        plan(old, target)


def test_what_does_not_belong_together_is_refused(tmp_path):
    target = FolderTarget(tmp_path / "out")
    publish(write(tmp_path / "own"), target)
    with pytest.raises(DatasetError, match="expected a dataset of testwiki"):
        plan(write(tmp_path / "own", wiki="otherwiki"), target)
    with pytest.raises(OutputExists, match="another dataset is published under this id"):
        plan(write(tmp_path / "second", text="Other."), target)


def test_a_damaged_dataset_is_never_published(tmp_path):
    dataset = write(tmp_path / "own")
    (dataset.folder / "stats.json").write_bytes(
        b"x" * (dataset.folder / "stats.json").stat().st_size
    )
    with pytest.raises(DatasetError, match=r"stats\.json: expected sha256"):
        publish(dataset, FolderTarget(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_kill_between_dataset_and_catalogue_is_made_good_by_publishing_again(tmp_path):
    dataset, target = write(tmp_path / "own"), FolderTarget(tmp_path / "out")
    publish(dataset, target)
    (tmp_path / "out/catalog.json").unlink()
    publish(dataset, target)
    Dataset.open(tmp_path / "out/testwiki/2026-11").verify()
    assert (tmp_path / "out/catalog.json").exists()


def test_a_folder_that_is_not_ours_is_not_overwritten(tmp_path):
    dataset = write(tmp_path / "own")
    (tmp_path / "out/testwiki/2026-11/v1").mkdir(parents=True)
    with pytest.raises(OutputExists, match="exists already with other content"):
        publish(dataset, FolderTarget(tmp_path / "out"))
    with pytest.raises(UsageError, match="is the dataset itself"):
        publish(dataset, FolderTarget(tmp_path / "own"))


# --- the hub --------------------------------------------------------------------------------


class Hub:
    """One dataset repository behind the parts of the hub's API that an upload uses."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.commits = [f"{0:040x}"]
        self.objects: dict[str, bytes] = {}
        self.private = None
        self.messages: list[str] = []
        self.tokens: set[str | None] = set()
        self.refuse: dict[str, int] = {}
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method, path, body):
        """Return status and JSON or bytes."""
        for part, status in self.refuse.items():
            if part in path:
                return status, {"error": "refused by the test"}
        routes = {
            r"POST /api/repos/create": self._create,
            r"POST /api/datasets/me/twiki/preupload/main": self._preupload,
            r"POST /api/validate-yaml": lambda _: (200, {"errors": [], "warnings": []}),
            r"POST /datasets/me/twiki\.git/info/lfs/objects/batch": self._batch,
            r"PUT /objects/(\w+)": self._store,
            r"POST /api/datasets/me/twiki/commit/main": self._commit,
            r"(?:GET|HEAD) /datasets/me/twiki/resolve/\w+/(.*)": self._file,
            r"GET /api/datasets/me/twiki": self._info,
        }
        for route, give in routes.items():
            if found := re.fullmatch(route, f"{method} {path}"):
                return give(body, *found.groups())
        return 404, {"error": f"the stand-in has no {method} {path}"}

    @property
    def head(self):
        return self.commits[-1]

    def _create(self, body):
        assert self.private is None, "made a second time"
        self.private = json.loads(body)["visibility"] == "private"
        return 200, {"url": f"{self.url}/datasets/me/twiki", "name": "me/twiki"}

    def _info(self, _body):
        if self.private is None:
            return 404, {"error": "RepoNotFound"}
        return 200, {"id": "me/twiki", "sha": self.head}

    def _store(self, body, oid):
        self.objects[oid] = body
        return 200, b""

    def _file(self, _body, path):
        content = self.files.get(path)
        return (404, {"error": "EntryNotFound"}) if content is None else (200, content)

    def _preupload(self, body):
        return 200, {"files": [self._mode(file) for file in json.loads(body)["files"]]}

    def _mode(self, file):
        mode = "lfs" if file["path"].endswith(".parquet") else "regular"
        return {"path": file["path"], "uploadMode": mode, "shouldIgnore": False}

    def _batch(self, body):
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.url}/objects/{one['oid']}"}}}
            for one in json.loads(body)["objects"]
        ]
        return 200, {"transfer": "basic", "objects": objects}

    def _commit(self, body):
        lines = [json.loads(line) for line in body.splitlines()]
        header = lines[0]["value"]
        if header.get("parentCommit") not in (None, self.commits[-1]):
            return 412, {"error": "A commit has happened since"}
        files = dict(self.files)
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                content = self.objects[value["oid"]]
                assert hashlib.sha256(content).hexdigest() == value["oid"]
                files[value["path"]] = content
            elif line["key"] == "deletedFolder":
                files = {p: c for p, c in files.items() if not p.startswith(value["path"])}
        self.files = files
        self.messages.append(header["summary"])
        self.commits.append(f"{len(self.commits):040x}")
        url = f"{self.url}/datasets/me/twiki/commit/{self.commits[-1]}"
        return 200, {"commitUrl": url, "commitOid": self.commits[-1], "success": True}

    def _handler(hub):  # noqa: N805 - the handler below has its own self
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self._body()
                path = self.path.partition("?")[0]
                if not path.startswith("/objects/"):
                    hub.tokens.add(self.headers.get("Authorization"))
                status, content = hub.answer(self.command, path, body)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Type", "application/json")
                self.send_header("X-Repo-Commit", hub.commits[-1])
                if isinstance(content, dict) and "error" in content:
                    self.send_header("X-Error-Code", content["error"])
                self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_HEAD = handle_any  # noqa: N815 - the server's names

            def _body(self):
                if self.headers.get("Transfer-Encoding") == "chunked":
                    pieces = []
                    while size := int(self.rfile.readline(), 16):
                        pieces.append(self.rfile.read(size))
                        self.rfile.readline()
                    self.rfile.readline()
                    return b"".join(pieces)
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def log_message(self, *args):
                pass

        return Handler


@pytest.fixture
def hub():
    pytest.importorskip("huggingface_hub")
    standing = Hub()
    yield standing
    standing.close()


def target(hub, **other):
    return HubTarget("me/twiki", TOKEN, endpoint=hub.url, **{"private": True, **other})


def test_a_dataset_reaches_the_hub_in_one_commit_byte_for_byte(hub, tmp_path):
    dataset = write(tmp_path)
    url = publish(dataset, target(hub))
    assert url == f"{hub.url}/datasets/me/twiki/commit/{1:040x}"
    assert hub.messages == ["Publish twiki-testwiki-2026-11-v1"]
    assert hub.private is True
    for name in (*dataset.files(), "manifest.json"):
        place = f"testwiki/2026-11/v1/{name}"
        assert hub.files[place] == (dataset.folder / name).read_bytes()
    assert {"README.md", "CITATION.cff", "catalog.json"} <= set(hub.files)
    assert hub.tokens == {f"Bearer {TOKEN}"}


def test_a_second_window_is_added_and_a_withdrawn_version_deleted(hub, tmp_path):
    publish(write(tmp_path, "2026-10"), target(hub))
    publish(write(tmp_path, "2026-11", text="hidden"), target(hub))
    new = write(tmp_path, "2026-11", withdraws="hidden text")
    publish(new, target(hub))
    held = {name.rsplit("/", 1)[0] for name in hub.files if name.endswith("manifest.json")}
    assert held == {"testwiki/2026-10/v1", "testwiki/2026-11/v2"}
    assert plan(new, target(hub)).add == {}


def test_a_change_by_another_in_the_meantime_is_refused(hub, tmp_path):
    late = target(hub)
    publish(write(tmp_path, "2026-10"), target(hub))
    with pytest.raises(SourceError, match="changed meanwhile, nothing was published"):
        publish(write(tmp_path, "2026-11"), late)


@pytest.mark.parametrize("part", ["/api/repos/create", "/preupload/", "/commit/", "/batch"])
def test_a_refusal_of_the_hub_is_said_with_its_status_and_without_the_token(hub, tmp_path, part):
    hub.refuse = {part: 403}
    with pytest.raises(SourceError, match=r"403.*refused by the test") as caught:
        publish(write(tmp_path), target(hub))
    assert TOKEN not in str(caught.value)
    assert not hub.files


def test_a_hub_that_is_not_there_is_said_plainly(tmp_path):
    with pytest.raises(SourceError, match="me/twiki: nothing was published"):
        HubTarget("me/twiki", TOKEN, endpoint="http://127.0.0.1:9", private=True)


def test_a_token_never_travels_unencrypted():
    with pytest.raises(UsageError, match="expected https"):
        HubTarget("me/twiki", TOKEN, endpoint="http://hub.example", private=True)
    with pytest.raises(UsageError, match="expected owner/name"):
        HubTarget("twiki", TOKEN, private=True)


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def run():
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    return lambda *args, **env: CliRunner().invoke(app, ["publish", *map(str, args)], env=env)


def test_the_command_does_nothing_unless_told_to(run, hub, tmp_path):
    dataset = write(tmp_path / "own")
    folder = run(dataset.folder, "--to", tmp_path / "out", "--json")
    assert json.loads(folder.stdout)["dry_run"] is True
    assert len(json.loads(folder.stdout)["files"]) == len(dataset.files()) + 5
    assert not (tmp_path / "out").exists()
    there = run(dataset.folder, "--to", "hf://me/twiki", HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
    assert there.exit_code == 0
    assert not hub.tokens


def test_the_command_takes_the_token_from_the_environment_alone(run, hub, tmp_path):
    dataset = write(tmp_path / "own")
    arguments = (dataset.folder.parent, "--to", "hf://me/twiki", "--no-dry-run", "--json")
    without = run(*arguments, HF_ENDPOINT=hub.url, HF_TOKEN="")
    assert isinstance(without.exception, UsageError)
    done = run(*arguments, "--public", HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["url"].startswith(hub.url)
    assert hub.private is False
    assert TOKEN not in done.stdout + done.stderr
    again = run(*arguments, HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
    assert "nothing to do" in again.stderr
