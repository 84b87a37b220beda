"""Rules for every route, checked against the route table."""

import re
from typing import Any

import pytest

from bookgen.http.edge.routing import Route
from bookgen.http.routes import ROUTES
from tests.http.conftest import PREFIX, Api, OpenApi, Reply
from tests.http.document import DOCUMENT
from tests.http.spec_tables import BODIES, ROWS

HEADERS = (
    "X-API-Version",
    "X-API-Version-Latest",
    "X-Request-Id",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
)
PASSING = ("x-request-id", "date", "ratelimit-remaining", "ratelimit-reset")
BY_ROW = {(route.method, route.path): route for route in ROUTES}
GUARDED = [route for route in ROUTES if not route.public]
OWNED = [route for route in GUARDED if "{id}" in route.path]


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


def filled(path: str, **ids: Any) -> str:
    """The path with its ids. Missing ids are ones that do not exist."""
    return re.sub(r"{(\w+)}", lambda name: str(ids.get(name[1], "999999")), path)


@pytest.mark.parametrize(("method", "path", "token", "statuses"), ROWS)
def test_every_row_of_the_contract_has_its_route(
    method: str, path: str, token: bool, statuses: tuple[int, ...]
) -> None:
    route = BY_ROW[method, path]

    documented = DOCUMENT["paths"][path][method.lower()]["responses"]
    assert route.public is not token
    assert {str(status) for status in statuses} <= documented.keys()


def test_every_route_is_in_the_contract_or_a_known_addition() -> None:
    beside = {("GET", "/docs/agents/"), ("GET", "/docs/{name}/")}

    assert BY_ROW.keys() - {(method, path) for method, path, *_ in ROWS} <= beside


async def test_only_public_routes_answer_without_a_token(visitor: Api) -> None:
    refused = {named(route) for route in ROUTES if (await _code(visitor, route)) == "AUTHENTICATION_REQUIRED"}

    assert refused == {named(route) for route in GUARDED}


async def _code(api: Api, route: Route) -> str | None:
    reply = await api.call(route.method, filled(route.path))
    return reply.code if reply.status == 401 else None


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("Bearer", "TOKEN_INVALID"),
        ("Bearer a b", "TOKEN_INVALID"),
        ("Bearer nonsense", "TOKEN_INVALID"),
        ("Bearer a.b.c", "TOKEN_INVALID"),
        (f"Bearer {'x' * 5000}", "TOKEN_INVALID"),
        ("bearer {token}", "AUTHENTICATION_REQUIRED"),
        ("Token {token}", "AUTHENTICATION_REQUIRED"),
        ("JWT {token}", "AUTHENTICATION_REQUIRED"),
        ("", "AUTHENTICATION_REQUIRED"),
    ],
)
async def test_only_the_bearer_scheme_with_one_token_is_accepted(api: Api, header: str, code: str) -> None:
    reply = await api.get("/books/", headers={"Authorization": header.replace("{token}", str(api.access))})

    assert (reply.status, reply.code) == (401, code)
    assert reply.headers["WWW-Authenticate"] == 'Bearer realm="api"'


async def test_the_id_of_another_account_answers_byte_for_byte_like_a_missing_one(api: Api) -> None:
    book = await api.written()
    chapter = book["chapters"][0]["id"]
    await api.patch(f"/chapters/{chapter}/", {"content": "Mine is the the sea."})
    revision = (await api.get(f"/chapters/{chapter}/revisions/")).body[0]["id"]
    report = (await api.post("/proofreading-reports/", {"book": book["id"]})).body["id"]
    suggestion = await api.first_suggestion(report)
    illustration = (await api.post(f"/chapters/{chapter}/generate-image/", {})).body["id"]
    by_noun = {
        "books": book["id"],
        "chapters": chapter,
        "proofreading-reports": report,
        "illustrations": illustration,
    }
    stranger = await api.as_new_account("eve")

    for route in OWNED:
        noun = route.path.split("/")[1]
        ids = {"id": by_noun[noun], "revision_id": revision, "suggestion_id": suggestion}
        taken = BODIES.get((route.method, route.path))
        for body in ({"json": taken}, {"json": {}}, {"json": [5]}, {"data": b"{"}) if taken else ({},):
            foreign = await stranger.call(route.method, filled(route.path, **ids), **body)
            missing = await stranger.call(route.method, filled(route.path), **body)
            assert foreign.status == 404, named(route)
            assert foreign.raw == missing.raw, named(route)
            assert told(foreign) == told(missing), named(route)
            assert foreign.code == "NOT_FOUND"
    assert (await api.get(f"/books/{book['id']}/")).body["title"] == book["title"]


def told(reply: Reply) -> dict[str, str]:
    """The headers except those that differ in every response."""
    return {name: value for name, value in reply.headers.items() if name.lower() not in PASSING}


async def test_every_route_answers_with_every_header(api: Api) -> None:
    for route in ROUTES:
        for prefix in (PREFIX, "/api"):
            reply = await api.call(route.method, filled(route.path), prefix=prefix)
            assert all(name in reply.headers for name in HEADERS), named(route)
            assert reply.headers["X-API-Version"] == "v1"
            assert reply.status < 500, (named(route), reply.body)


async def test_every_route_refuses_other_methods_and_names_the_allowed_ones(api: Api) -> None:
    allowed: dict[str, set[str]] = {}
    for route in ROUTES:
        allowed.setdefault(filled(route.path), set()).add(route.method)
    for path, methods in allowed.items():
        reply = await api.call("PUT", path)
        assert (reply.status, reply.code) == (405, "METHOD_NOT_ALLOWED"), path
        assert methods <= set(reply.headers["Allow"].split(", "))
        listed = ", ".join(sorted(reply.headers["Allow"].split(", ")))
        assert reply.body["error"]["message"].startswith(f"Method not allowed here. Allowed: {listed}.")


async def test_a_405_names_a_request_that_works(visitor: Api) -> None:
    listed = await visitor.call("PUT", "/books/demo/")
    action = await visitor.get("/books/5/generate/")

    assert listed.body["error"]["message"].endswith("Send GET /api/v1/books/demo/ instead.")
    assert action.body["error"]["message"].endswith("Send POST /api/v1/books/5/generate/ instead.")
    assert action.headers["Allow"] == "POST"


@pytest.mark.parametrize("prefix", ["/api/v1", "/api"])
async def test_the_index_links_to_everything(visitor: Api, prefix: str) -> None:
    index = await visitor.get("/", prefix=prefix)

    assert (index.status, index.body["version"]) == (200, "v1")
    base = f"{visitor.services.site.public_url}/api/v1"
    assert (index.body["schema"], index.body["docs"], index.body["errors"]) == (
        f"{base}/schema/", f"{base}/docs/", f"{base}/docs/errors/"
    )  # fmt: skip
    assert (await visitor.get("", prefix=prefix)).headers["Location"] == f"{prefix}/"
    for name in ("schema", "docs", "errors", "agents", "settings"):
        assert (await visitor.get(index.body[name].removeprefix(base))).status == 200


async def test_every_path_without_a_final_slash_is_redirected_for_every_method(api: Api) -> None:
    for route in ROUTES:
        path = filled(route.path)
        reply = await api.call(route.method, path.rstrip("/") + "?a=1")
        assert (reply.status, reply.headers["Location"]) == (301, f"{PREFIX}{path}?a=1"), path
        assert all(name in reply.headers for name in HEADERS)


async def test_a_path_with_an_encoded_letter_is_redirected_as_it_was_sent(visitor: Api) -> None:
    answer = await visitor.raw(f"GET {PREFIX}/public%2dsettings HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 301")
    assert f"Location: {PREFIX}/public%2dsettings/\r\n".encode() in answer


@pytest.mark.parametrize("prefix", ["/api/v1", "/api", ""])
@pytest.mark.parametrize(
    "path",
    ["/graphql/", "/graphql", "/ws/", "/books/abc/", "/books/1/export-pdf/", "/%2e%2e/etc/passwd"],
)
async def test_an_unknown_path_is_a_404_in_the_envelope(visitor: Api, prefix: str, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        reply = await visitor.call(method, path, prefix=prefix)
        assert (reply.status, reply.code) == (404, "NOT_FOUND")
        assert all(name in reply.headers for name in HEADERS)


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/api/books",
        "//evil.example",
        "/api//evil.example",
        "/api/v1//evil.example/books",
        "/\\evil.example",
    ],
)
async def test_the_redirect_never_leads_to_another_host(visitor: Api, path: str) -> None:
    answer = await visitor.raw(f"GET {path} HTTP/1.1\r\nHost: books.example\r\nConnection: close\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 404")
    assert b"Location" not in answer


async def test_the_alias_answers_like_the_version(api: Api) -> None:
    book = await api.book()

    pinned = await api.get(f"/books/{book['id']}/")
    alias = await api.get(f"/books/{book['id']}/", prefix="/api")

    assert pinned.body == alias.body


async def test_lists_are_bare_arrays_and_documented_as_such(open_api: OpenApi) -> None:
    api = await (await open_api(billing="on")).as_new_account("ada")

    for path in (
        "/books/",
        "/books/dropdown/",
        "/chapters/",
        "/auth/subscriptions/plans/",
        "/auth/subscriptions/usage/",
        "/auth/subscriptions/payments/",
        "/auth/addons/available/",
        "/auth/addons/my_addons/",
        "/auth/credits/packages/",
        "/auth/credits/transactions/",
    ):
        documented = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert documented.get("type") == "array", path
        assert isinstance((await api.get(path)).body, list), path
