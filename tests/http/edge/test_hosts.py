"""The host names that the service answers to, as a protection against DNS rebinding."""

from __future__ import annotations

import pytest

from tests.http.conftest import Api, OpenApi


@pytest.fixture
async def visitor(open_api: OpenApi) -> Api:
    return await open_api(public_url="https://books.example.org", allowed_origins="https://app.example.org")


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "evil.com:8000",
        "books.example.org.evil.com",
        "localhost.evil.com",
        "127.0.0.1.nip.io",
        "evil",
        "[",
        "",
    ],
)
async def test_an_unknown_host_is_refused(visitor: Api, host: str) -> None:
    for path, prefix in (("/public-settings/", "/api/v1"), ("/", ""), ("/metrics", ""), ("/none/", "/api/v1")):
        reply = await visitor.get(path, prefix=prefix, headers={"Host": host})
        assert (reply.status, reply.code) == (400, "VALIDATION_ERROR")
        assert "BOOKGEN_PUBLIC_URL" in str(reply.body)


@pytest.mark.parametrize(
    "host",
    [
        "books.example.org",
        "BOOKS.example.org:8443",
        "books.example.org.",
        "app.example.org",
        "localhost:8000",
        "127.0.0.1:8000",
        "[::1]:8000",
        "192.0.2.7",
    ],
)
async def test_the_services_own_names_and_loopback_and_addresses_are_accepted(visitor: Api, host: str) -> None:
    assert (await visitor.get("/public-settings/", headers={"Host": host})).status == 200


async def test_a_request_without_a_host_header_is_accepted(visitor: Api) -> None:
    answer = await visitor.raw(b"GET /api/v1/public-settings/ HTTP/1.0\r\n\r\n")

    assert b" 200 " in answer.partition(b"\r\n")[0]
