"""The HTTP edge: bodies, rate limits, headers, failures."""

import asyncio
import io
import json
import re
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import asyncpg
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from structlog.testing import capture_logs

from bookgen.errors import InvalidInput, NotFound, PayloadTooLarge
from bookgen.http.edge import access_log, bodies, connection, replies
from bookgen.http.edge.contract import json_schema
from bookgen.http.edge.deprecation import Deprecation
from bookgen.http.edge.keys import BODY
from bookgen.http.edge.routing import Route, path_id
from bookgen.http.edge.schemas import Body, String
from bookgen.http.routes import ROUTES as ROUTE_TABLE
from bookgen.rate_limits import LimitClass
from tests.http.conftest import Api, OpenApi


class Note(Body):
    text = String(100, required=True)


@json_schema(Note)
async def echo(request: web.Request) -> web.Response:
    return replies.json(request[BODY])


async def fail(_request: web.Request) -> web.Response:
    raise RuntimeError("the password is hunter2")


async def fail_away(_request: web.Request) -> web.Response:
    raise asyncpg.CannotConnectNowError("the database system is starting up")


ROUTES = (
    Route("POST", "/echo/", echo, LimitClass.PUBLIC, public=True),
    Route("GET", "/fail/", fail, LimitClass.PUBLIC, public=True),
    Route("GET", "/away/", fail_away, LimitClass.PUBLIC, public=True),
    Route("POST", "/work/", echo, LimitClass.EXPENSIVE),
)


@pytest.fixture
async def edge(open_api: OpenApi) -> Api:
    return await open_api(routes=ROUTES)


# Bodies


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"NaN",
        b'{"text": NaN}',
        b'{"text": Infinity}',
        b'{"text": 1e999}',
        b'{"text": "\\ud800"}',
        b'{"text": "\\u0000"}',
        b'{"text": "\xff"}',
        b'{"text": ' + b"9" * 10_000 + b"}",
        b'{"text": "a", "deep": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"text": "a", "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b"\xef\xbb\xbf{}",
    ],
)
async def test_a_body_that_is_not_a_valid_json_object_is_400(edge: Api, raw: bytes) -> None:
    reply = await edge.call("POST", "/echo/", data=raw, headers={"Content-Type": "application/json"})

    assert (reply.status, reply.code) == (400, "VALIDATION_ERROR")
    assert all(isinstance(messages, list) for messages in reply.body["error"]["details"].values())


def test_a_body_may_be_nested_32_levels_deep() -> None:
    flat, deepest = [[] for _ in range(40)], b"[" * 31 + b"]" * 31

    assert bodies.parse(b"[" + deepest + b"," + b"[]," * 40 + b"[]]")[1:] == [*flat, []]
    with pytest.raises(InvalidInput, match="deep"):
        bodies.parse(b"[[" + deepest + b"]]")


def test_a_body_may_have_ten_thousand_lists() -> None:
    assert len(bodies.parse(b"[" + b"[]," * 9_998 + b"[]]")) == 9_999


def test_brackets_in_strings_do_not_count() -> None:
    text = '[{"\\' * 20_000

    assert bodies.parse(orjson.dumps([text, {"a": text}])) == [text, {"a": text}]


@pytest.mark.parametrize("bomb", [b"[" + b"[]," * 10_000 + b"[]]", b'{"a":[' + b'{"b":1},' * 10_000 + b"1]}"])
def test_a_body_of_many_lists_is_refused_before_parsing(bomb: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(orjson, "loads")

    with pytest.raises(InvalidInput, match="10,000"):
        bodies.parse(bomb)


def test_an_unclosed_string_is_scanned_once() -> None:
    began = time.process_time()

    with pytest.raises(InvalidInput, match="JSON"):
        bodies.parse(b'["' + b'[\\"' * 500_000)

    assert time.process_time() - began < 2


async def test_a_wrong_content_type_is_400_under_non_field_errors(edge: Api) -> None:
    reply = await edge.call("POST", "/echo/", data={"text": "a form"})

    assert (reply.status, list(reply.body["error"]["details"])) == (400, ["non_field_errors"])


async def test_a_body_without_a_content_type_is_not_accepted_as_json(edge: Api) -> None:
    """A page of any origin may send one without a preflight."""
    answer = await edge.raw(
        b'POST /api/v1/echo/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n{"text": "hi" }'
    )

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"Content-Type: application/json" in answer


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])
async def test_the_json_content_type_is_accepted_in_any_spelling(edge: Api, content_type: str) -> None:
    reply = await edge.call("POST", "/echo/", data=b'{"text": "\xc3\xa4"}', headers={"Content-Type": content_type})

    assert (reply.status, reply.body) == (200, {"text": "ä"})


async def test_an_answer_is_logged_with_its_route_but_one_of_a_health_check_is_not(
    visitor: Api, log_lines: io.StringIO
) -> None:
    await visitor.get("/healthz", prefix="")
    await visitor.get("/public-settings/")

    logged = [json.loads(line) for line in log_lines.getvalue().splitlines()]
    said = [(line["route"], line["status"]) for line in logged if line["event"] == "request"]
    assert said == [("/public-settings/", 200)]


async def test_an_untrusted_proxy_is_logged_once_with_the_setting(open_api: OpenApi) -> None:
    told = []
    for proxies in ("", "127.0.0.0/8"):
        visitor = await open_api(trusted_proxies=proxies)
        with capture_logs() as logs:
            for _ in range(3):
                await visitor.get("/public-settings/", headers={"X-Forwarded-For": "198.51.100.7"})
        told.append([line["to_do"] for line in logs if line["event"] == "proxy_is_not_trusted"])

    assert told == [["If this proxy is yours, add its address to BOOKGEN_TRUSTED_PROXIES."], []]


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_over_two_mebibytes_is_413(edge: Api, chunked: bool) -> None:
    async def pieces() -> Any:
        for _ in range(40):
            yield b"x" * 65536

    data = pieces() if chunked else io.BytesIO(b"x" * (bodies.MAX_BYTES + 1))
    reply = await edge.call("POST", "/echo/", data=data, headers={"Content-Type": "application/json"})

    assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")
    assert reply.body["error"]["details"] == {"limit_bytes": 2 << 20}
    assert "RateLimit-Limit" in reply.headers


@pytest.mark.parametrize(("size", "refused"), [(2 << 20, False), ((2 << 20) + 1, True)])
def test_a_body_is_refused_by_the_size_in_its_head(size: int, refused: bool) -> None:
    request = make_mocked_request("POST", "/", {"Content-Length": str(size)})

    with pytest.raises(PayloadTooLarge) if refused else nullcontext():
        bodies.refuse_large(request)


async def test_a_body_of_two_mebibytes_is_accepted(edge: Api) -> None:
    data = b'{"text": "hi"}'.ljust(bodies.MAX_BYTES)

    reply = await edge.call("POST", "/echo/", data=io.BytesIO(data), headers={"Content-Type": "application/json"})

    assert (reply.status, reply.body) == (200, {"text": "hi"})


async def test_a_body_that_never_ends_times_out(edge: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "READ_SECONDS", 0.1)

    answer = await edge.raw(
        b"POST /api/v1/echo/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 50\r\n\r\n{"
    )

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"did not arrive in time" in answer


def test_an_id_in_a_path_is_at_most_the_largest_bigint() -> None:
    largest, larger = (make_mocked_request("GET", "/", match_info={"id": str(2**63 - 1 + more)}) for more in (0, 1))

    assert path_id(largest) == 2**63 - 1
    with pytest.raises(NotFound):
        path_id(larger)


# Failures


async def test_an_unexpected_error_reveals_only_the_request_id(edge: Api) -> None:
    reply = await edge.get("/fail/", headers={"X-Request-Id": "my-request.1"})

    assert (reply.status, reply.code) == (500, "SERVER_ERROR")
    assert reply.body["error"]["details"] == {"request_id": "my-request.1"}
    assert b"hunter2" not in reply.raw
    assert b"Traceback" not in reply.raw
    assert reply.headers["X-API-Version"] == "v1"


async def test_an_error_after_the_handler_is_a_500_in_the_envelope(edge: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    record = access_log.record

    def fail_once(*_: Any) -> None:
        monkeypatch.setattr(access_log, "record", record)
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(access_log, "record", fail_once)
    reply = await edge.get("/none/")

    assert (reply.status, reply.code) == (500, "SERVER_ERROR")
    assert reply.body["error"]["details"] == {"request_id": reply.headers["X-Request-Id"]}
    assert reply.headers["Connection"] == "close"
    assert b"hunter2" not in reply.raw


async def test_an_unreachable_database_is_503_with_retry_after(edge: Api) -> None:
    reply = await edge.get("/away/")

    assert (reply.status, reply.code) == (503, "SERVICE_UNAVAILABLE")
    assert int(reply.headers["Retry-After"]) > 0


@pytest.mark.parametrize("given", ["a", "A-1_b.c", "x" * 64])
async def test_the_request_id_of_the_caller_is_returned(edge: Api, given: str) -> None:
    assert (await edge.get("/none/", headers={"X-Request-Id": given})).headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "has space", "ünïcode", "a;b"])
async def test_an_invalid_request_id_is_replaced(edge: Api, given: str) -> None:
    made = (await edge.get("/none/", headers={"X-Request-Id": given})).headers["X-Request-Id"]

    assert made != given
    assert made.isalnum()


# Budgets


async def test_the_headers_count_down_and_a_429_says_when_to_return(open_api: OpenApi) -> None:
    edge = await open_api(routes=ROUTES, rate_public="3/minute")

    seen = [await edge.get("/nowhere/") for _ in range(4)]

    assert [reply.status for reply in seen] == [404, 404, 404, 429]
    assert [int(reply.headers["RateLimit-Remaining"]) for reply in seen] == [2, 1, 0, 0]
    assert {reply.headers["RateLimit-Limit"] for reply in seen} == {"3"}
    assert [int(reply.headers["RateLimit-Reset"]) for reply in seen] == [20, 40, 60, 60]
    assert seen[3].code == "RATE_LIMIT_EXCEEDED"
    assert seen[3].headers["Retry-After"] == "20"
    assert seen[3].body["error"]["details"] == {
        "limit": 3,
        "remaining": 0,
        "reset_seconds": 60,
        "retry_after": 20,
        "scope": "public",
    }


async def test_a_signed_in_caller_has_a_budget_per_account_and_class(open_api: OpenApi) -> None:
    visitor = await open_api(rate_read="2/minute", rate_write="5/minute")
    ada, eve = await visitor.as_new_account("ada"), await visitor.as_new_account("eve")

    reads = [(await ada.get("/books/")).status for _ in range(3)]
    write = await ada.post("/books/", {})

    assert reads == [200, 200, 429]
    assert (write.status, write.headers["RateLimit-Remaining"]) == (400, "4")
    assert (await eve.get("/books/")).status == 200


async def test_invalid_tokens_count_against_the_budget_of_the_address(open_api: OpenApi) -> None:
    visitor = await open_api(rate_public="2/minute")

    guesses = [
        (await visitor.get("/books/", headers={"Authorization": f"Bearer guess{number}"})).status for number in range(3)
    ]

    assert guesses == [401, 401, 429]


async def test_expensive_budgets_are_shared_by_processes_and_kept_over_a_restart(open_api: OpenApi) -> None:
    first = await (await open_api(rate_expensive="3/hour")).as_new_account("ada")
    second = replace(await open_api(rate_expensive="3/hour"), access=first.access)
    book = await first.book()

    replies = [await each.post(f"/books/{book['id']}/generate/") for each in (first, second, first, second)]
    third = await open_api(rate_expensive="3/hour")
    after = await replace(third, access=first.access).post(f"/books/{book['id']}/generate/")

    assert [reply.status for reply in replies] == [400, 400, 400, 429]
    assert [reply.headers["RateLimit-Remaining"] for reply in replies] == ["2", "1", "0", "0"]
    assert (after.status, after.code) == (429, "RATE_LIMIT_EXCEEDED")
    assert 0 < int(after.headers["Retry-After"]) <= 1200


async def test_two_processes_never_grant_the_same_expensive_token(open_api: OpenApi) -> None:
    first = await (await open_api(rate_expensive="5/hour")).as_new_account("ada")
    second = replace(await open_api(rate_expensive="5/hour"), access=first.access)

    replies = await asyncio.gather(*(each.post("/books/1/generate/") for each in (first, second) * 10))

    assert sorted(reply.status for reply in replies) == [404] * 5 + [429] * 15


async def test_behind_a_trusted_proxy_each_client_has_its_own_budget(open_api: OpenApi) -> None:
    visitor = await open_api(rate_public="1/minute", trusted_proxies="127.0.0.0/8")

    statuses = [
        (await visitor.get("/books/demo/", headers={"X-Forwarded-For": forwarded})).status
        for forwarded in ("203.0.113.1", "203.0.113.2", "8.8.8.8, 203.0.113.1", "2001:db8::1", "2001:db8::2")
    ]

    assert statuses == [200, 200, 429, 200, 429]


# Headers


async def test_every_answer_has_the_security_headers(edge: Api) -> None:
    for path in ("/echo/", "/none/", "/fail/", "/echo"):
        headers = (await edge.get(path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Server"] == "bookgen"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "camera=()" in headers["Permissions-Policy"]
        assert "Strict-Transport-Security" not in headers
        assert "Deprecation" not in headers


async def test_behind_https_answers_have_hsts(open_api: OpenApi) -> None:
    visitor = await open_api(public_url="https://books.example.org")

    said = (await visitor.get("/books/demo/")).headers["Strict-Transport-Security"]

    assert said == "max-age=31536000; includeSubDomains"


async def test_a_deprecated_version_says_so_in_every_answer(open_api: OpenApi) -> None:
    going = Deprecation(datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 9, 1, tzinfo=UTC), "https://x.example/v2")
    visitor = await open_api(site={"deprecation": going})

    paths = {re.sub(r"{\w+}", "1", route.path) for route in ROUTE_TABLE} | {"/nowhere/", "/books"}
    for path in paths:
        headers = (await visitor.get(path)).headers
        assert headers["Deprecation"] == "@1798761600"
        assert headers["Sunset"] == "Wed, 01 Sep 2027 00:00:00 GMT"
        assert headers["Link"] == '<https://x.example/v2>; rel="deprecation"; type="text/html"'


def test_a_version_is_not_removed_before_six_months_have_passed() -> None:
    with pytest.raises(ValueError, match="six months"):
        Deprecation(datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 6, 1, tzinfo=UTC), "https://x.example")


ORIGIN = "https://app.example.org"


async def test_only_allowed_origins_get_cors_headers(open_api: OpenApi) -> None:
    visitor = await open_api(allowed_origins=ORIGIN)

    listed = (await visitor.get("/books/demo/", headers={"Origin": ORIGIN})).headers
    stranger = (await visitor.get("/books/demo/", headers={"Origin": "https://evil.example"})).headers

    assert listed["Access-Control-Allow-Origin"] == ORIGIN
    assert "RateLimit-Remaining" in listed["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in listed
    assert "Access-Control-Allow-Origin" not in stranger
    assert listed["Vary"] == stranger["Vary"] == "Origin"


async def test_a_preflight_is_answered_for_allowed_origins_only(open_api: OpenApi) -> None:
    visitor = await open_api(allowed_origins=ORIGIN)
    ask = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization"}

    listed = await visitor.call("OPTIONS", "/books/1/", headers={"Origin": ORIGIN, **ask})
    stranger = await visitor.call("OPTIONS", "/books/1/", headers={"Origin": "https://evil.example", **ask})

    assert listed.status == 204
    assert "PATCH" in listed.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in listed.headers["Access-Control-Allow-Headers"]
    assert stranger.status == 405
    assert "Access-Control-Allow-Methods" not in stranger.headers
    assert (await visitor.call("PUT", "/books/1/", headers={"Origin": ORIGIN, **ask})).status == 405


async def test_head_answers_like_get_without_a_body(visitor: Api) -> None:
    reply = await visitor.call("HEAD", "/books/demo/")

    assert (reply.status, reply.raw) == (200, b"")
    assert int(reply.headers["Content-Length"]) > 10_000


async def test_the_log_contains_the_route_template_and_not_the_path(
    log_lines: io.StringIO, edge: Api, visitor: Api
) -> None:
    await visitor.get("/auth/verify-email/MQ/canary-3a9f/")
    await visitor.get("/books/demo/?canary-3a9f=1", headers={"Authorization": "Bearer canary-3a9f"})

    assert "canary-3a9f" not in log_lines.getvalue()
    assert "/auth/verify-email/{uid}/{token}/" in log_lines.getvalue()


async def test_a_slow_answer_delays_a_shutdown_only_briefly(open_api: OpenApi, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    async def never(_request: web.Request) -> web.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    visitor = await open_api(routes=(Route("GET", "/never/", never, LimitClass.PUBLIC, public=True),))
    monkeypatch.setattr(connection, "SHUTDOWN_SECONDS", 0.1)
    runner = connection.BoundedRunner(visitor.client.app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1])
    writer.write(b"GET /api/v1/never/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await asked.wait()

    async with asyncio.timeout(10):
        await runner.cleanup()
        assert await reader.read() == b""
    writer.close()
