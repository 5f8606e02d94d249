"""A real browser over a real server; skipped, with the reason, where there is none."""

import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from types import SimpleNamespace

import msgspec
import pages_world
import pytest

from stream.pages import index
from twiki.windows.dataset import Dataset

AXE = "axe-core@4.14.1"


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: drives a real browser, in a run of its own")


def pytest_collection_modifyitems(items):
    """The driver leaves an event loop in its process, which other tests must not meet."""
    for item in items:
        if "integration/pages" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: pip install playwright"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on the PATH: apt install chromium")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("pages")
    folder = pages_world.write_dataset(root / "datasets", reconcile=pages_world.RECONCILE)
    digest = sha256((folder / "manifest.json").read_bytes()).hexdigest()
    index.build(Dataset.open(folder), index.path_of(root / "cache", digest), lambda _rows: None)
    engine = pages_world.write_state(root / "state")
    (root / "twiki.toml").write_text(
        '[wiki]\nname = "testwiki"\nrepository = "testdata"\nurl = "https://wiki.example"\n',
        encoding="utf-8",
    )
    yield SimpleNamespace(root=root, engine=engine)
    engine.store.close()


@pytest.fixture(scope="session")
def engine(world):
    """The worker's side of the state that ``server`` is beside."""
    return world.engine


@pytest.fixture(scope="session")
def server(world):
    """``twiki serve`` as people start it."""
    command = [sys.executable, "-m", "twiki", "serve", "--json", "--port", "0"]
    command += ["--datasets", world.root / "datasets", "--state", world.root / "state"]
    command += ["--cache", world.root / "cache", "--config", world.root / "twiki.toml"]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True
    ) as process:
        yield msgspec.json.decode(process.stdout.readline())["url"].rstrip("/")
        process.terminate()


@pytest.fixture(scope="session")
def visit(browser, server):
    context = browser.new_context(base_url=server, viewport={"width": 1100, "height": 900})
    context.set_default_timeout(60_000)
    yield context
    context.close()


@pytest.fixture
def tab(visit, server):
    """A page of the browser whose console must stay silent."""
    page = visit.new_page()
    said = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    outside = []
    page.on(
        "request",
        lambda asked: outside.append(asked.url) if not asked.url.startswith(server) else None,
    )
    yield page
    page.close()
    assert outside == [], "a page asked somebody else"
    assert [one for one in said if "404" not in one] == []


@pytest.fixture(scope="session")
def axe(request):
    """The script of axe-core, fetched once by npm, which checks it, into pytest's cache."""
    folder = request.config.cache.mkdir("axe")
    script = folder / "package/axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm on the PATH to fetch axe-core with: apt install npm")
        command = [npm, "pack", "--silent", AXE]
        fetched = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.skip(f"npm pack {AXE}: {fetched.stderr.strip()[-200:]}")
        with tarfile.open(folder / fetched.stdout.split()[-1]) as archive:
            archive.extractall(folder, filter="data")
    return script.read_text(encoding="utf-8")
