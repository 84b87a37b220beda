"""Answers of many megabytes: sent in pieces, complete, and cut off for clients that do not read them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bookgen.errors import PayloadTooLarge, RateLimited
from bookgen.http.chapters_schemas import MAX_CONTENT
from bookgen.http.edge import connection, large_answers
from bookgen.http.edge.concurrency import AT_ONCE
from bookgen.http.edge.keys import OUTGOING
from bookgen.http.edge.large_answers import MAX_PIECE_BYTES, Outgoing, batches, require_sendable
from bookgen.store import chapters as stored_chapters
from tests.http.conftest import Api

CHAPTERS = 12


@pytest.fixture
async def book(api: Api) -> dict[str, Any]:
    """A book of three million characters, with a picture in its first chapter."""
    made = await api.outlined(chapter_count=CHAPTERS)
    await fill(api, made, times=60_000)
    assert (await api.post(f"/chapters/{made['chapters'][0]['id']}/generate-image/", {})).status == 200
    return made


async def fill(api: Api, book: dict[str, Any], *, times: int) -> None:
    await api.services.database.http.execute(
        """UPDATE chapter SET content = repeat(chr(96 + chapter_number) || 'ä "\n', $2), status = 'completed',
                              content_version = content_version + 1
            WHERE book_id = $1""",
        book["id"],
        times,
    )


@pytest.fixture
async def larger(api: Api, book: dict[str, Any]) -> None:
    """Too large for the buffers of any socket."""
    await fill(api, book, times=200_000)


@pytest.mark.parametrize("path", ["/chapters/", "/books/{}/"])
async def test_a_large_answer_equals_its_chapters_read_one_by_one(api: Api, book: dict[str, Any], path: str) -> None:
    whole = await api.get(path.format(book["id"]))

    shown = whole.body if path == "/chapters/" else whole.body["chapters"]
    assert whole.headers["Transfer-Encoding"] == "chunked"
    assert whole.headers["X-API-Version"] == "v1"
    assert len(whole.raw) > CHAPTERS * 300_000
    for each, first in zip(shown, book["chapters"], strict=True):
        assert each == (await api.get(f"/chapters/{first['id']}/")).body
    assert len(shown[0]["illustrations"]) == 1


@pytest.mark.parametrize("path", ["/chapters/", "/books/{}/"])
async def test_a_large_answer_is_a_304_until_one_of_its_texts_changes(
    api: Api, book: dict[str, Any], path: str
) -> None:
    path = path.format(book["id"])
    known = {"If-None-Match": (await api.get(path)).headers["ETag"]}

    again = await api.get(path, headers=known)
    await api.patch(f"/chapters/{book['chapters'][5]['id']}/", {"content": "x" * 300_000})
    changed = await api.get(path, headers=known)

    assert (again.status, again.raw) == (304, b"")
    assert changed.status == 200
    assert changed.headers["ETag"] != known["If-None-Match"]


def test_an_account_with_64_mebibytes_unread_gets_no_further_large_answer() -> None:
    outgoing = Outgoing()

    with outgoing.sending(1, (64 << 20) - 1):
        outgoing.require_room(1)
    with outgoing.sending(1, 64 << 20):
        with pytest.raises(RateLimited):
            outgoing.require_room(1)
        outgoing.require_room(2)

    outgoing.require_room(1)


async def test_the_large_answers_of_one_account_are_read_one_at_a_time(
    api: Api, book: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = most = 0
    some = stored_chapters.some

    async def counted(*of: Any) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            return await some(*of)
        finally:
            now -= 1

    monkeypatch.setattr(stored_chapters, "some", counted)

    answers = await asyncio.gather(*(api.get(f"/books/{book['id']}/") for _ in range(6)))

    assert [answer.status for answer in answers] == [200] * 6
    assert most == AT_ONCE


async def test_a_large_answer_is_read_piece_by_piece(
    api: Api, book: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    some = stored_chapters.some

    async def watched(*args: Any) -> Any:
        found = await some(*args)
        read.append(len(found))
        return found

    monkeypatch.setattr(stored_chapters, "some", watched)
    await api.get("/chapters/")

    assert read == [1] * CHAPTERS


def test_small_texts_share_a_piece_and_a_large_text_has_its_own() -> None:
    whole = large_answers.PIECE
    sizes = [(1, 100), (2, whole - 100), (3, 1), (4, whole - 1), (5, 1), (6, whole * 9), (7, 0)]

    assert list(batches(sizes)) == [[1, 2], [3, 4], [5], [6], [7]]
    assert list(batches([])) == []


def test_the_bytes_counted_for_a_piece_hold_the_longest_chapter() -> None:
    assert len("🖋".encode()) * MAX_CONTENT <= MAX_PIECE_BYTES


def test_an_answer_of_half_a_gibibyte_is_sent_and_a_larger_one_refused() -> None:
    require_sendable(512 << 20)

    with pytest.raises(PayloadTooLarge, match="would exceed 512 MiB"):
        require_sendable((512 << 20) + 1)


async def test_the_size_of_an_answer_is_limited(
    api: Api, book: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_answers, "MAX_RESPONSE_BYTES", 2 << 20)

    refused = await api.get("/chapters/")

    assert (refused.status, refused.code) == (413, "PAYLOAD_TOO_LARGE")
    assert "would exceed 2 MiB" in refused.body["error"]["message"]


@pytest.mark.usefixtures("larger")
async def test_stalled_readers_use_bounded_memory_and_delay_no_other_account(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_answers, "MAX_ACCOUNT_BYTES", 8 * MAX_PIECE_BYTES)  # more readers than connections
    outgoing = api.client.server.app[OUTGOING]  # type: ignore[union-attr]
    async with contextlib.AsyncExitStack() as stalled:
        for _ in range(8):
            await stalled.enter_async_context(stalling(api))
        await until(lambda: outgoing._of_account[api.account_id] == 8 * MAX_PIECE_BYTES)

        refused = await api.get("/books/")
        other = await (await api.as_new_account("eve")).get("/books/")

    await until(lambda: not outgoing._of_account)
    assert (refused.status, refused.code, refused.body["error"]["details"]["scope"]) == (
        429,
        "RATE_LIMIT_EXCEEDED",
        "answers",
    )
    assert other.status == 200
    assert (await api.get("/books/")).status == 200


@pytest.mark.usefixtures("larger")
async def test_a_large_answer_that_is_read_too_slowly_is_cut_off(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.2)
    outgoing = api.client.server.app[OUTGOING]  # type: ignore[union-attr]
    sent = asyncio.Event()
    sending = outgoing.sending

    @contextlib.contextmanager
    def watched(*args: Any) -> Any:
        try:
            with sending(*args):
                yield
        finally:
            sent.set()

    monkeypatch.setattr(outgoing, "sending", watched)
    async with stalling(api):
        await asyncio.wait_for(sent.wait(), 20)

    assert not outgoing._of_account


@contextlib.asynccontextmanager
async def stalling(api: Api) -> AsyncIterator[None]:
    """A client that requests everything and reads next to nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    with client:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", api.client.port))
        request = f"GET /api/v1/chapters/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.access}\r\n\r\n"
        await loop.sock_sendall(client, request.encode())
        assert (await loop.sock_recv(client, 12)) == b"HTTP/1.1 200"
        yield


async def until(happened: Any) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110 (the signal is the state of another task)
            await asyncio.sleep(0)
