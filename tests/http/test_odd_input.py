"""Odd input to every endpoint that takes a body: accepted, or refused by field, and never an error 500."""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import Any

import pytest
from aiohttp.compression_utils import ZLibDecompressor

from tests.http.conftest import PREFIX, Api, OpenApi
from tests.http.document import DOCUMENT

SHAPES = DOCUMENT["components"]["schemas"]
BODIES = {
    f"{method.upper()} {path}": operation["requestBody"]
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if "requestBody" in operation
}
NO_OBJECTS = {
    "an array": b"[]",
    "a string": b'"text"',
    "null": b"null",
    "a number": b"1",
    "blanks": b" \n",
    "no blank of JSON": b"\x0b",
    "nothing sound": b'{"title": ',
    "NaN": b'{"title": NaN, "email": NaN, "limit": -Infinity}',
    "a lone surrogate": b'{"title": "\\ud800", "email": "\\udc00"}',
    "no UTF-8": b'{"title": "\xff\xfe"}',
    "deep": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "deep under a field": b'{"chapters": ' + b"[" * 500 + b"]" * 500 + b"}",
    "a key twice with a huge number": b'{"title": ' + b"9" * 5_000 + b', "title": ' + b"-" + b"9" * 5_000 + b"}",
}
VALUES = [
    None, True, -1, 2**63, 1e300, 0.5, "", "a\0b", "x" * 1_000_001, "\u202e\ufeff", "1",
    [], [[]], ["\0"], [2**63], {"\0": "\0"}, [{"id": True}],
]  # fmt: skip


def path_of(row: str, ids: dict[str, int]) -> str:
    path = row.split(" ")[1].replace("{uid}", "MQ").replace("{token}", "0123456789abcdef")
    return path.replace("{id}", str(ids.get(path.split("/")[1]))).replace("{fact_id}", "1")


async def sent(api: Api, row: str, path: str, raw: bytes, content_type: str = "application/json") -> Any:
    return await api.call(row.split(" ")[0], path, data=io.BytesIO(raw), headers={"Content-Type": content_type})


@pytest.fixture
async def ids(api: Api) -> dict[str, int]:
    """The account's ids, by the collection in their path."""
    book = await api.outlined()
    chapter = book["chapters"][0]["id"]
    await api.patch(f"/chapters/{chapter}/", {"content": "Mine is the the sea."})
    illustration = (await api.post(f"/chapters/{chapter}/generate-image/", {})).body["id"]
    report = (await api.post("/proofreading-reports/", {"book": book["id"]})).body["id"]
    await api.first_suggestion(report)
    return {"books": book["id"], "chapters": chapter, "illustrations": illustration, "proofreading-reports": report}


async def test_a_body_that_is_not_a_json_object_is_refused_under_non_field_errors(
    api: Api, ids: dict[str, int]
) -> None:
    for row in BODIES:
        path = path_of(row, ids)
        for what, raw in NO_OBJECTS.items():
            reply = await sent(api, row, path, raw)
            assert (reply.status, reply.code) == (400, "VALIDATION_ERROR"), (row, what)
            assert "non_field_errors" in reply.body["error"]["details"], (row, what)
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"):
            reply = await sent(api, row, path, b'{"title": "A"}', content_type)
            assert (reply.status, list(reply.body["error"]["details"])) == (400, ["non_field_errors"]), content_type


async def test_every_field_accepts_or_refuses_any_value_without_an_error_500(api: Api, ids: dict[str, int]) -> None:
    for row, body in BODIES.items():
        content = body["content"]["application/json"]
        shape = SHAPES[content["schema"]["$ref"].rpartition("/")[2]]
        for name, field in shape["properties"].items():
            for value in VALUES:
                given = {**content.get("example", {}), name: value, "unknown": [{"id": 1}], "is_staff": True}
                reply = await sent(api, row, path_of(row, ids), json.dumps(given).encode())
                about = f"{row} {name}={value!r:.40}: {reply.raw[:300]!r}"
                assert reply.status < 500, about
                if misses(field, value):
                    assert (reply.status, name in reply.body["error"]["details"]) == (400, True), about


def misses(field: dict[str, Any], value: Any) -> bool:
    """Whether the value has the wrong JSON type according to the OpenAPI document. A bool is not an integer."""
    types = field.get("type", [])
    types = {types} if isinstance(types, str) else set(types)
    is_of = {
        "null": value is None,
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "string": isinstance(value, str),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
    }
    return bool(types) and not any(is_of[each] for each in types)


async def test_ids_of_any_size_are_not_found(api: Api) -> None:
    for number in ("0", "00", "9" * 18, str(2**63 - 1), str(2**63), "9" * 400):
        for path in (f"/books/{number}/", f"/chapters/{number}/", f"/books/{number}/generation-status/"):
            assert (await api.get(path)).code == "NOT_FOUND", path
    for number in ("-1", "1.0", "1e3", "0x1", "%EF%BC%91", "%31%00", "1%2F2", "None", "*"):
        answer = await api.raw(
            f"GET {PREFIX}/books/{number}/ HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {api.access}\r\n\r\n".encode()
        )
        assert answer.startswith(b"HTTP/1.1 404"), number


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a client hello of TLS\r\n\r\n",
        b"GET /api/v1/books/\xef\xbc\x91/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/v1/books/ HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /api/v1/books/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \x00\r\n\r\n",
        b"GET /api/v1/books/ HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n",
        b"POST /api/v1/books/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /api/v1/books/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ],
)
async def test_a_malformed_request_is_refused_in_the_envelope_with_every_header(visitor: Api, raw: bytes) -> None:
    head, _, body = (await visitor.raw(raw)).partition(b"\r\n\r\n")

    error = json.loads(body)["error"]
    assert (error["code"], error["status"]) == ("VALIDATION_ERROR", 400)
    assert re.match(rb"HTTP/1\.[01] 400 ", head)
    for name in (b"RateLimit-Remaining", b"X-API-Version", b"X-Request-Id", b"Server: bookgen"):
        assert name in head
    assert b"aiohttp" not in head


async def test_a_malformed_request_is_refused_behind_a_proxy_as_well(open_api: OpenApi, log_lines: io.StringIO) -> None:
    visitor = await open_api(trusted_proxies="127.0.0.0/8")

    answer = await visitor.raw(b"GET /api/v1/books/ HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n")

    assert b"VALIDATION_ERROR" in answer
    assert "Traceback" not in log_lines.getvalue()


@pytest.mark.parametrize("path", ["/books/", "/public-settings/", "/nowhere/"])
@pytest.mark.parametrize("expected", [b"the-unexpected", b"\xff"])
async def test_an_unknown_expect_header_is_refused_in_the_envelope_with_every_header(
    visitor: Api, path: str, expected: bytes
) -> None:
    answer = await visitor.raw(
        f"GET {PREFIX}{path} HTTP/1.1\r\nHost: localhost\r\nExpect: ".encode() + expected + b"\r\n\r\n"
    )

    assert answer.startswith(b"HTTP/1.1 400")
    assert all(name in answer for name in (b"RateLimit-Remaining", b"X-API-Version", b"X-Request-Id", b"100-continue"))


@pytest.mark.parametrize("path", ["/auth/login/", "/auth/logout/", "/webhooks/stripe/"])
@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        b"Content-Encoding: deflate\r\nContent-Length: 4\r\n\r\nabcd",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    ],
)
async def test_a_body_with_a_wrong_encoding_is_refused(
    log_lines: io.StringIO, visitor: Api, path: str, sent: bytes
) -> None:
    answer = await visitor.raw(
        f"POST {PREFIX}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode() + sent
    )

    assert re.match(rb"HTTP/1\.[01] (400|200)" if path == "/auth/logout/" else rb"HTTP/1\.[01] 400", answer)
    assert "Traceback" not in log_lines.getvalue()


@pytest.mark.parametrize("path", ["/auth/login/", "/auth/logout/", "/webhooks/stripe/", "/nowhere/"])
async def test_a_compressed_body_is_never_decompressed(
    visitor: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    unpacked: list[object] = []

    def unpack(*given: object, **_: object) -> bytes:
        unpacked.append(given)
        raise ValueError

    monkeypatch.setattr(ZLibDecompressor, "decompress_sync", unpack)
    packed = gzip.compress(b"0")

    answer = await visitor.raw(
        f"POST {PREFIX}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
        + packed
    )

    expected = {"/auth/logout/": 200, "/nowhere/": 404}.get(path, 400)
    assert answer.startswith(f"HTTP/1.1 {expected}".encode())
    assert not unpacked
    if expected == 400:
        assert b"Send the body without Content-Encoding." in answer


@pytest.mark.parametrize("limit", ["0", "-1", "abc", "", "1.5", "1e2", "\0", "9" * 400, "１０", "true", "5&limit=x"])
async def test_an_invalid_query_parameter_is_refused_by_name(api: Api, limit: str) -> None:
    reply = await api.get(f"/auth/credits/transactions/?limit={limit.replace(chr(0), '%00')}")

    if limit == "5&limit=x":
        assert reply.status in (200, 400)
    else:
        assert (reply.status, list(reply.body["error"]["details"])) == (400, ["limit"])
