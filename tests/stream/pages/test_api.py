"""The same for programs: described, stable, bounded."""

import msgspec
import pytest
from pages_world import ID

from stream.pages.library import READABLE
from stream.pages.now import KINDS
from twiki.windows.schema import ROWS, order_key


@pytest.mark.parametrize("part", READABLE)
@pytest.mark.parametrize("limit", [1, 7, 200])
def test_paging_gives_every_row_once_and_in_order(client, site, part, limit):
    if limit == 1 and site.library.dataset(site.library.find(ID)).counts[part] > 20:
        limit = 13
    address = f"/api/v1/datasets/{ID}/rows/{part.value}"
    rows, after = [], None
    while True:
        answer = client.get(address, params={"limit": limit, **({"after": after} if after else {})})
        assert answer.status_code == 200
        assert len(answer.json()["rows"]) <= limit
        rows += answer.json()["rows"]
        after = answer.json()["after"]
        if after is None:
            break
    expected = list(site.library.dataset(site.library.find(ID)).rows(part))
    assert msgspec.convert(rows, list[ROWS[part]], strict=False) == expected
    assert [order_key(row) for row in expected] == sorted(order_key(row) for row in expected)


def test_the_same_mark_gives_the_same_rows(client):
    address = f"/api/v1/datasets/{ID}/rows/sentences?limit=5"
    after = client.get(address).json()["after"]
    first = client.get(f"{address}&after={after}").content
    assert client.get(f"{address}&after={after}").content == first


def test_a_page_of_huge_rows_ends_early_and_goes_on(client):
    answer = client.get(f"/api/v1/datasets/{ID}/rows/diffset?limit=200")
    assert len(answer.content) < 6_000_000


def test_the_description_names_every_call_and_every_answer_fits_it(client, opened):
    told = client.get("/api/v1/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    served = {
        route.path for route in opened.client.app._app.routes if route.path.startswith("/api/v1/")
    }
    assert set(told["paths"]) == served
    for name in ("Windows", "DatasetInfo", "Rows", "Article", "FactInfo", "Found", "Now"):
        assert name in told["components"]["schemas"]
    kinds = next(
        one for one in told["paths"]["/api/v1/live"]["get"]["parameters"] if one["name"] == "kind"
    )
    assert kinds["schema"]["enum"] == list(KINDS)


def test_an_article_and_a_fact_say_what_their_pages_say(client):
    article = client.get(f"/api/v1/datasets/{ID}/articles/3").json()
    assert [s["replaced"] for s in article["sentences"]] == [None, "It opened in 1998."]
    assert article["facts"][0]["object"] == "Ada Lund"
    fact = client.get(
        f"/api/v1/datasets/{ID}/facts/probes_changed/Q3/P1", params={"object": "Q77"}
    ).json()
    assert fact["fact"]["cloze"] == "Page 3 was opened by"
    assert fact["after"] == "It opened in 1999."


def test_failures_are_json_too(client):
    for path, status in (
        ("/api/v1/nope", 404),
        ("/api/v1/datasets/x", 404),
        (f"/api/v1/datasets/{ID}/search?q=a&in=b", 400),
    ):
        answer = client.get(path)
        assert answer.status_code == status
        assert answer.json()["error"]


@pytest.mark.timeout(100)
def test_whatever_the_description_allows_is_answered_as_it_says(opened):
    schemathesis = pytest.importorskip("schemathesis", reason="pip install schemathesis")
    checks = pytest.importorskip("schemathesis.checks")
    from hypothesis import HealthCheck, Phase, given, settings

    async def app(scope, receive, send):
        """Without the lifespan, which the fixture holds."""
        if scope["type"] == "http":
            await opened.client.app(scope, receive, send)
            return
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})

    schema = schemathesis.openapi.from_asgi(
        "/api/v1/openapi.json", app, headers={"host": "localhost"}
    )
    wanted = [
        checks.not_a_server_error,
        schemathesis.specs.openapi.checks.status_code_conformance,
        schemathesis.specs.openapi.checks.content_type_conformance,
        schemathesis.specs.openapi.checks.response_schema_conformance,
    ]
    quiet = settings(
        max_examples=12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        database=None,
        derandomize=True,
    )
    asked = 0
    for operation in schema.get_all_operations():
        call = operation.ok()
        if call.path == "/api/v1/live":
            continue  # it never ends

        @quiet
        @given(case=call.as_strategy())
        def answered(case):
            nonlocal asked
            if "id" in (case.path_parameters or {}) and asked % 2:
                case.path_parameters["id"] = ID
            asked += 1
            case.call_and_validate(headers={"host": "localhost"}, checks=wanted)

        answered()
    assert asked > 50
