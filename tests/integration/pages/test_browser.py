"""The pages in a real browser: keyboard, screen reader, dark, narrow, live, hostile text."""

import pages_world
import pytest
from pages_world import ID

PAGES = (
    "/windows",
    f"/datasets/{ID}",
    f"/datasets/{ID}/articles",
    f"/datasets/{ID}/articles/3",
    f"/datasets/{ID}/articles/7",
    f"/datasets/{ID}/articles/8",
    f"/datasets/{ID}/facts/probes_changed",
    "/search?q=lund",
    "/search?q=lund&in=facts",
    "/models",
    "/api",
    "/now",
)
SERIOUS = """async () => {
    const found = await axe.run({resultTypes: ["violations"]});
    return found.violations
        .filter((one) => ["serious", "critical"].includes(one.impact))
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
}"""


THREE_MESSAGES = """() => new Promise((done) => {
    let came = 0;
    document.body.addEventListener("htmx:sseBeforeMessage", () => { if (++came >= 3) done(); });
})"""


def connected(tab):
    """The live page, once its stream has said something."""
    tab.goto("/now")
    tab.wait_for_selector("#sampled:has-text('Shown')")


def watch_live(tab, path):
    tab.goto(path)
    if path == "/now":
        tab.wait_for_selector("#pause:not([hidden])")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(tab, axe, path, scheme):
    tab.emulate_media(color_scheme=scheme)
    watch_live(tab, path)
    # Through the debugger: the policy of the pages lets no other script in.
    tab.evaluate(axe)
    assert tab.evaluate(SERIOUS) == []


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_a_narrow_screen(tab, path):
    tab.set_viewport_size({"width": 320, "height": 700})
    watch_live(tab, path)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 320


def test_dark_is_dark(tab):
    tab.emulate_media(color_scheme="dark")
    tab.goto("/windows")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in ground[4:-1].split(",")) < 60


def test_all_of_it_is_reached_with_the_keyboard(tab):
    tab.goto("/windows")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    while tab.evaluate("document.activeElement.textContent") != "2026-10":
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement !== document.body")
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**/datasets/{ID}")


def test_search_is_typed_and_sent_with_the_keyboard(tab):
    tab.goto("/search")
    tab.wait_for_selector("#q:focus")
    tab.keyboard.type("lund page 42")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#hits")
    assert tab.inner_text("#hits") == "1 found"
    tab.click("text=Page 42")
    tab.wait_for_url(f"**/datasets/{ID}/articles/42#s0")


def test_hostile_text_does_nothing(tab):
    asked = []
    tab.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    for path in (f"/datasets/{ID}/articles/7", "/search?q=script&in=facts"):
        tab.goto(path)
        assert "<script>" in tab.inner_text("main")
    assert asked == []
    assert tab.evaluate("document.querySelectorAll('main script').length") == 0


def test_the_live_page_counts_what_the_engine_counts(tab, world):
    connected(tab)
    pages_world.tell(world.engine, range(1000, 1500))
    told = world.engine.progress.outbox
    tab.wait_for_selector(f"#all-told[value='{told}']")
    revisions = world.engine.counts["revisions"]
    assert tab.get_attribute("#revisions", "value") == str(revisions)
    tab.wait_for_selector("#sampled:has-text('of 500 told')")
    assert tab.locator("#items > li").count() <= 60
    assert tab.locator("#items > li").count() > 30, "more than stood there at first"


def test_pause_holds_the_list_and_says_so(tab, world):
    connected(tab)
    tab.click("#pause")
    assert tab.get_attribute("#pause", "aria-pressed") == "true"
    before = tab.inner_html("#items")
    pages_world.tell(world.engine, range(2000, 2010))
    tab.evaluate(THREE_MESSAGES)
    assert tab.inner_html("#items") == before
    tab.click("#pause")
    pages_world.tell(world.engine, range(2015, 2020))
    tab.wait_for_selector("#items:has-text('Page 2019 stands')")


def test_filters_choose_what_is_shown(tab):
    tab.goto("/now")
    tab.fill("#title", "P12")
    tab.press("#title", "Enter")
    tab.wait_for_url("**title=P12**")
    titles = tab.locator("#items > li p:first-child bdi").all_inner_texts()
    assert titles
    assert all("P12" in title for title in titles)
