"""The same guarantees over the real SDKs, on both protocols, as seen by the server."""

import random

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import StopReason
from bookgen.words import tokens
from bookgen.writing.outline import draft_outline
from bookgen.writing.sentences import is_finished
from tests.writing.authored import PROTOCOLS, authored, sent, write_book
from tests.writing.misbehaved import cuts, garbles, writes
from tests.writing.scripted import a_book, numbers_in, obedient, says, some_material

pytestmark = pytest.mark.parametrize("protocol", PROTOCOLS)


async def test_lengths_and_the_ledger_are_right_over_http(protocol):
    rng = random.Random(protocol)
    async with authored(writes(lambda: rng.uniform(0.7, 1.3)), protocol) as (server, steps):
        drafts, _ = await write_book(some_material(10, words=2_000), steps)

    assert abs(sum(draft.word_count for draft in drafts) - 20_000) <= 2_000
    used = steps.usage
    assert used.calls == server.ledger["calls"]
    assert used.input_tokens == server.ledger["input"]
    assert (used.cache_write_tokens, used.cache_read_tokens) == (
        server.ledger["cache_write"],
        server.ledger["cache_read"],
    )
    assert used.output_tokens == server.ledger["output"]


async def test_cut_replies_are_joined_without_a_gap_over_http(protocol):
    async with authored(cuts(random.Random(7)), protocol) as (_, steps):
        drafts, _ = await write_book(some_material(3, words=2_000), steps)

    for draft in drafts:
        numbers = numbers_in(draft.content)
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert is_finished(draft.content)


async def test_malformed_outlines_are_recovered_over_http(protocol):
    model = garbles(random.Random(3), lambda turns: 1.0 if turns == 1 else 0.0)
    async with authored(model, protocol) as (server, steps):
        for number in range(12):
            outline = await draft_outline(a_book(title=f"Book {number}", bible={}), steps)
            assert len(outline.chapters) == 10

    assert len(server.requests) <= 36


async def test_repeated_input_is_never_paid_in_full_again(protocol):
    async with authored(obedient, protocol) as (server, steps):
        drafts, _ = await write_book(some_material(12, words=3_000), steps)

    told, chapters = server.ledger, sum(tokens(draft.content) for draft in drafts)
    assert told["cache_read"] >= 0.95 * 12 * tokens(sent(server.requests[0]))
    assert told["input"] + told["cache_write"] <= 1.35 * chapters


async def test_every_writing_call_contains_what_the_book_has_established(protocol):
    async with authored(obedient, protocol) as (server, steps):
        _, material = await write_book(some_material(5, words=1_600), steps)

    for call in server.requests:
        if call.stage == "chapter":
            given, number = sent(call), call.brief["chapter_number"]
            assert "grey eyes" in given
            assert all(f"In chapter {earlier} Mara" in given for earlier in range(1, number))
            assert all(chapter.summary in given for chapter in material.chapters)
            if number > 1:
                tail = " ".join(material.chapters[number - 2].content.split()[-150:])
                assert tail in " ".join(given.split())


async def test_a_refusal_over_http_names_stage_and_chapter(protocol):
    async with authored(lambda *_: says("I will not.", StopReason.REFUSAL), protocol) as (_, steps):
        with pytest.raises(UpstreamAIError) as failed:
            await write_book(some_material(1), steps)

    assert (failed.value.stage, failed.value.chapter_number, failed.value.retryable) == ("chapter", 1, False)
