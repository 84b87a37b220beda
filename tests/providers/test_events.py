"""The event stream of a model is parsed the same however its bytes are split over reads."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import pytest

from bookgen.providers import reading, sdk
from bookgen.providers.access import Access
from bookgen.providers.attempt import CallFailed, Cure, FailureKind, Provider
from bookgen.providers.events import read_events
from bookgen.providers.failures import ProviderError, failure_of
from bookgen.providers.openai import OpenAIProvider
from bookgen.providers.text import StopReason
from tests.providers.calls import PROVIDERS, chapter_request

ANY = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)

EVENTS = [{"text": "Ein Käse, “so” 雪 🦊"}, {"text": "two\nlines"}, {"text": ""}]
STREAM = (
    ": a comment\n\n"
    "id: 7\nretry: 10\nevent: message\n"
    + "".join(f"data: {json.dumps(each, ensure_ascii=False)}\n\n" for each in EVENTS)
).encode()
HALVES = b'data: {"text": "\\ud83e"}\n\ndata: {"text": "\\udd8a"}\n\n'


async def reads_of(reads: Sequence[bytes], after: Callable[[], object] = lambda: None) -> AsyncIterator[bytes]:
    """Yield a body in these reads, then call `after`."""
    for read in reads:
        yield read
    after()


async def events_of(*reads: bytes) -> list[dict[str, object]]:
    return [event async for event in read_events(reads_of(reads))]


def splits(stream: bytes) -> Iterator[list[bytes]]:
    """The stream split at each byte, into single bytes, and with empty reads."""
    yield from ([stream[:at], stream[at:]] for at in range(len(stream)))
    single = [stream[at : at + 1] for at in range(len(stream))]
    yield single
    yield [read for each in single for read in (each, b"")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
async def test_events_are_parsed_the_same_however_the_reads_split_them(end) -> None:
    stream = STREAM.replace(b"\n", end) + end  # a read that ends in CR waits for a possible LF

    assert all([await events_of(*reads) == EVENTS for reads in splits(stream)])


async def test_data_in_several_lines_is_one_event() -> None:
    assert await events_of(b'data: {"text":\ndata\ndata:"whole"}\n\n') == [{"text": "whole"}]


async def test_an_unterminated_event_is_dropped() -> None:
    assert await events_of(b'data: {"text": "a"}\n\ndata: {"text": "b"}\n') == [{"text": "a"}]


async def test_a_character_split_between_reads_is_decoded() -> None:
    assert await events_of(HALVES) == [{"text": "\ud83e"}, {"text": "\udd8a"}]


async def test_data_after_the_last_event_is_ignored() -> None:
    read_to_the_end = asyncio.Event()
    reads = reads_of([STREAM + b"data: [DONE]\n\ndata: nonsense\n\n", b"more"], read_to_the_end.set)

    assert [event async for event in read_events(reads)] == EVENTS
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
async def test_an_error_in_mid_stream_raises_its_own_kind(stream, kind) -> None:
    with pytest.raises(ProviderError) as told:
        await events_of(STREAM, stream)

    assert failure_of(told.value).failure is kind


@pytest.mark.parametrize("stream", [b"data: {not json}\n\n", b"data: [1]\n\n", b'data: "\xff"\n\n'])
async def test_unreadable_data_is_garbled(stream) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        await events_of(stream)

    assert failure_of(error.value).failure is FailureKind.GARBLED


@ANY
async def test_a_finished_reply_keeps_its_connection_open_for_a_cloud_provider(server, make, monkeypatch) -> None:
    monkeypatch.setattr(sdk, "CLOUDS", ("127.0.0.1",))
    server.configure(chunk=5)
    provider = make(server)

    replies = [await provider.attempt(chapter_request(200)) for _ in range(3)]

    assert {reply.stop for reply in replies} == {StopReason.END}
    assert len({call.port for call in server.requests}) == 1
    await provider.close()


class HangsUp:
    """A server that promises to keep connections and closes each at its second request. `asked`: the ports of its
    clients.
    """

    body = (
        b'data: {"choices": [{"delta": {"content": "It rained all day."}}]}\n\n'
        b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    )
    head = b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with (
            contextlib.closing(writer),
            contextlib.suppress(asyncio.IncompleteReadError),
        ):  # the client may have disconnected
            for answer in (self.head % len(self.body) + self.body, b""):
                asked = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", asked.lower())
                await reader.readexactly(int(length[1]) if length else 0)
                self.asked.append(writer.get_extra_info("peername")[1])
                writer.write(answer)


async def test_every_call_to_a_local_server_opens_its_own_connection() -> None:
    server = HangsUp()
    async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
        provider = OpenAIProvider("local", Access(url=f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"))
        replies = [await provider.attempt(chapter_request()) for _ in range(3)]
        await provider.close()

    assert [reply.text for reply in replies] == ["It rained all day."] * 3
    assert len(set(server.asked)) == len(server.asked) == 3


@ANY
async def test_an_unreachable_server_and_one_that_hangs_up_are_both_away(server, make) -> None:
    hang_up = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{hang_up.sockets[0].getsockname()[1]}"
    provider = make(server)

    async with hang_up:
        hung_up = await failure(provider)
    nobody = await failure(provider)

    assert (hung_up.failure, hung_up.bound) == (nobody.failure, nobody.bound) == (FailureKind.AWAY, False)
    assert (hung_up.detail, hung_up.cure) == ("Server disconnected", Cure.WAIT)
    assert (nobody.detail, nobody.cure) == (f"{server.url.removeprefix('http://')}: Connection refused", Cure.START)
    await provider.close()


@ANY
async def test_a_reply_beyond_the_size_limit_is_garbled(server, make, monkeypatch) -> None:
    monkeypatch.setattr(reading, "MAX_REPLY_BYTES", 500)
    provider = make(server)

    assert (await failure(provider)).failure is FailureKind.GARBLED
    await provider.close()


async def failure(provider: Provider) -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        await provider.attempt(chapter_request())
    return failed.value
