"""The stream of a model is read as it was sent, however its bytes are split over the reads."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import httpx2
import pytest

from bookgen.providers import transport
from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.events import ToldError, read_events
from bookgen.providers.failures import failure_of
from bookgen.providers.text import StopReason
from bookgen.providers.transport import BoundedClient
from tests.providers.calls import chapter_request, chat

EVENTS = [{"text": "Ein Käse, “so” 雪 🦊"}, {"text": "two\nlines"}, {"text": ""}]
STREAM = (
    ": a comment\n\n"
    "id: 7\nretry: 10\nevent: message\n"
    + "".join(f"data: {json.dumps(each, ensure_ascii=False)}\n\n" for each in EVENTS)
).encode()
HALVES = b'data: {"text": "\\ud83e"}\n\ndata: {"text": "\\udd8a"}\n\n'


class Reads(httpx2.AsyncByteStream):
    """A body as these reads; `after` is done when they are over."""

    def __init__(self, reads: Sequence[bytes], after: Callable[[], object] = lambda: None) -> None:
        self._reads, self._after = reads, after

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read
        self._after()


async def events_of(*reads: bytes) -> list[dict[str, object]]:
    response = httpx2.Response(200, stream=Reads(reads), request=httpx2.Request("POST", "http://model"))
    return [event async for event in read_events(response)]


def splits(stream: bytes) -> Iterator[list[bytes]]:
    """At each byte, at every byte, and with reads that bring nothing."""
    yield from ([stream[:at], stream[at:]] for at in range(len(stream)))
    single = [stream[at : at + 1] for at in range(len(stream))]
    yield single
    yield [read for each in single for read in (each, b"")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
async def test_events_are_the_same_wherever_the_reads_split_them(end) -> None:
    stream = STREAM.replace(b"\n", end) + end  # a read that ends in CR waits for what might be its LF

    assert all([await events_of(*reads) == EVENTS for reads in splits(stream)])


async def test_an_event_whose_data_comes_in_lines_is_one() -> None:
    assert await events_of(b'data: {"text":\ndata\ndata:"whole"}\n\n') == [{"text": "whole"}]


async def test_what_was_not_ended_is_no_event() -> None:
    assert await events_of(b'data: {"text": "a"}\n\ndata: {"text": "b"}\n') == [{"text": "a"}]


async def test_halves_of_a_character_do_not_spoil_the_stream() -> None:
    assert await events_of(HALVES) == [{"text": "\ud83e"}, {"text": "\udd8a"}]


async def test_nothing_is_read_of_what_stands_behind_the_last_event() -> None:
    read_to_the_end = asyncio.Event()
    reads = Reads([STREAM + b"data: [DONE]\n\ndata: nonsense\n\n", b"more"], read_to_the_end.set)
    response = httpx2.Response(200, stream=reads, request=httpx2.Request("POST", "http://model"))

    assert [event async for event in read_events(response)] == EVENTS
    assert read_to_the_end.is_set()  # so that the connection can be used again


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        (b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n', FailureKind.AWAY),
        (b'event: error\ndata: {"type": "error", "error": {"type": "rate_limit_error"}}\n\n', FailureKind.BUSY),
        (b'data: {"error": {"message": "no", "code": "insufficient_quota"}}\n\n', FailureKind.LOCKED_OUT),
        (b'data: {"error": "out of memory"}\n\n', FailureKind.AWAY),
        (b'event: error\ndata: {"code": 500, "message": "out of memory"}\n\n', FailureKind.AWAY),
        (b"event: error\ndata: out of memory\n\n", FailureKind.AWAY),
    ],
)
async def test_an_error_in_mid_stream_is_told_as_what_it_is(stream, kind) -> None:
    with pytest.raises(ToldError) as told:
        await events_of(STREAM, stream)

    assert failure_of(told.value).failure is kind


@pytest.mark.parametrize("stream", [b"data: {not json}\n\n", b"data: [1]\n\n", b'data: "\xff"\n\n'])
async def test_what_nobody_can_read_is_garbled(stream) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        await events_of(stream)

    assert failure_of(error.value).failure is FailureKind.GARBLED


async def test_a_finished_stream_leaves_its_connection_for_the_next_call(server) -> None:
    server.configure(chunk=5)
    provider = chat(server)

    replies = [await provider.attempt(chapter_request(200)) for _ in range(3)]

    assert {reply.stop for reply in replies} == {StopReason.END}
    assert len({call.port for call in server.requests}) == 1
    await provider.close()


class HangsUp:
    """A server that answers one request on a connection, and hangs up at the next. `asked`: by which connections."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError):  # whoever asks may have left
            for answer in (b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nhi", b""):
                await reader.readuntil(b"\r\n\r\n")
                self.asked.append(writer.get_extra_info("peername")[1])
                writer.write(answer)


async def test_a_kept_connection_that_the_server_has_closed_is_made_anew() -> None:
    server, client = HangsUp(), BoundedClient(Deadlines(), connections=4)
    async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        replies = [await client.post(f"http://127.0.0.1:{port}/", content=b"{}") for _ in range(2)]
        await client.aclose()

    assert [reply.text for reply in replies] == ["hi", "hi"]
    assert [server.asked.count(port) for port in dict.fromkeys(server.asked)] == [2, 1]


async def test_a_server_that_was_at_work_before_it_hung_up_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "STALE_SECONDS", -1.0)
    server, client = HangsUp(), BoundedClient(Deadlines(), connections=4)
    async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        await client.post(url, content=b"{}")
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(url, content=b"{}")
        await client.aclose()

    assert len(server.asked) == 2


async def test_nobody_at_the_address_and_one_who_hangs_up_are_away() -> None:
    hang_up = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = hang_up.sockets[0].getsockname()[1]
    client = BoundedClient(Deadlines(connect=1), connections=1)

    async with hang_up:
        hung_up = await failure(client, port)
    nobody = await failure(client, port)

    assert (hung_up.failure, hung_up.bound) == (nobody.failure, nobody.bound) == (FailureKind.AWAY, False)
    await client.aclose()


async def failure(client: BoundedClient, port: int) -> CallFailed:
    with pytest.raises(httpx2.TransportError) as error:
        await client.post(f"http://127.0.0.1:{port}/")
    return failure_of(error.value)
