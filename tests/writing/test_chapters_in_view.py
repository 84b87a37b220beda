"""Earlier chapters are in the prompt of a chapter word for word, as far as the context window allows."""

import asyncio
import itertools
from dataclasses import replace

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.sample.facts import facts
from bookgen.providers.text import PromptTooLong, StopReason
from bookgen.threads import compute
from bookgen.words import tokens
from bookgen.writing import notes
from bookgen.writing.chapter import write_chapter
from bookgen.writing.chapters_in_view import first_shown, size
from bookgen.writing.continuity import stored_digest
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.rework import rework_chapters
from bookgen.writing.window import WINDOW
from tests.fakes.model_cache import anthropic_blocks
from tests.writing.authored import PROTOCOLS, authored, sent, told, write_book
from tests.writing.scripted import Scripted, obedient, prose, says, some_material
from tests.writing.test_continuity import whole, written

LARGE = 200_000


def room_for(material, chapters):
    """A context window with space for this many of the written chapters."""
    sizes = sorted(size(each.content) for each in material.chapters if each.content)
    return WINDOW + sum(sizes[-chapters:])


def edited(material, number):
    """The book after its author edited this chapter, which has no notes now."""
    changed = replace(material.chapters[number - 1], content=prose(300, number * 10_000 + 5_000))
    return replace(material, chapters=tuple(changed if each.id == changed.id else each for each in material.chapters))


def asked_of(steps, stage):
    return [request.chapter_number for request in steps.of_stage(stage)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_prompt_of_a_chapter_starts_with_the_whole_prompt_of_the_previous_one(protocol):
    async with authored(obedient, protocol) as (server, steps):
        _, material = await write_book(some_material(5, words=900), steps, LARGE)

    calls = [call for call in server.requests if call.stage == "chapter"]
    for before, after in itertools.pairwise(calls):
        assert told(after).startswith(told(before))
    assert all(chapter.content in sent(calls[-1]) for chapter in material.chapters[:-1])


async def test_the_cache_marks_are_after_the_book_and_the_last_two_chapters_and_the_task():
    async with authored(obedient, "anthropic") as (server, steps):
        _, material = await write_book(some_material(5, words=900), steps, LARGE)

    last = [call for call in server.requests if call.stage == "chapter"][-1]
    blocks = anthropic_blocks(last.body)
    marked = [place for place, (_, mark) in enumerate(blocks) if mark]
    assert marked == [0, 3, 4, 5]
    assert all(material.chapters[place - 1].content in blocks[place][0] for place in (1, 2, 3, 4))
    assert "Write chapter 5 of 5" in blocks[5][0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_repeated_input_is_read_from_the_cache_by_chapters_and_notes(protocol):
    async with authored(obedient, protocol) as (server, steps):
        await write_book(some_material(8, words=1_500), steps, LARGE)

    used = steps.usage
    whole_input = used.input_tokens + used.cache_write_tokens + used.cache_read_tokens
    assert used.cache_read_tokens >= 0.8 * whole_input
    notes_of = [call for call in server.requests if call.stage == "digest"]
    assert [call.brief["chapter_number"] for call in notes_of] == list(range(1, 8))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_in_a_book_larger_than_the_window_far_chapters_are_replaced_by_digests(protocol):
    context = WINDOW + 4 * 1_700
    async with authored(obedient, protocol) as (server, steps):
        _, material = await write_book(some_material(12, words=900), steps, context)

    for call in (call for call in server.requests if call.stage == "chapter"):
        number, given = call.brief["chapter_number"], sent(call)
        shown = [each for each in range(1, number) if material.chapters[each - 1].content in given]
        summed_up = [each for each in range(1, number) if f"In chapter {each} Mara" in given]
        assert summed_up + shown == list(range(1, number))
        assert number == 1 or number - 1 in shown
        assert tokens(given) < context
    assert summed_up


def test_the_oldest_chapters_are_dropped_in_large_steps():
    starts = [first_shown([1_000] * chapters, 10_000) for chapters in range(60)]

    assert sorted(starts) == starts
    assert all(chapters - start <= 10 for chapters, start in enumerate(starts))
    assert len(set(starts)) <= 60 / 5
    assert all(chapters - start >= 1 for chapters, start in enumerate(starts) if chapters)


def test_a_chapter_longer_than_the_space_left_is_not_shown():
    assert first_shown([500, 20_000], 10_000) == 2
    assert first_shown([500, 20_000, 700], 10_000) == 2
    assert first_shown([9_000, 9_000], 10_000) == 1


async def test_nothing_is_shown_without_space_beyond_the_small_window():
    material, steps, as_before = written(6, upto=4), Scripted(obedient), Scripted(obedient)

    await write_chapter(material, 5, steps, context_tokens=WINDOW)
    await write_chapter(material, 5, as_before)

    assert steps.calls == as_before.calls
    assert asked_of(steps, "digest") == [5]


async def test_a_chapter_in_view_is_noted_while_the_next_one_is_written():
    steps, made = Scripted(obedient), []
    material = written(6, upto=4)
    material = replace(material, digests={number: each for number, each in material.digests.items() if number < 4})

    draft = await write_chapter(material, 5, steps, on_digest=made.append, context_tokens=LARGE)

    assert draft.digest is None
    assert [request.stage for request, _ in steps.calls][:2] == ["chapter", "digest"]
    assert [(digest.chapter_number, digest.content_hash) for digest in made] == [
        (4, content_hash(material.chapters[3].content))
    ]
    assert all(fact.quote in material.chapters[3].content for fact in made[0].noted)
    chapter, note = steps.of_stage("chapter")[0], steps.of_stage("digest")[0]
    assert [block.text for block in note.system] == [block.text for block in chapter.system]


async def test_a_chapter_short_compared_with_the_text_before_it_is_noted_in_a_separate_small_prompt():
    material = written(9, upto=7, words=2_000)
    short = replace(material.chapters[6], content=prose(200, 70_000))
    material = unnoted(replace(material, chapters=(*material.chapters[:6], short, *material.chapters[7:])), 7)
    steps, made = Scripted(obedient), []

    await write_chapter(material, 8, steps, on_digest=made.append, context_tokens=LARGE)

    note = steps.of_stage("digest")[0]
    assert short.content in whole(note)
    assert material.chapters[0].content not in whole(note)
    assert [digest.chapter_number for digest in made] == [7]


async def test_an_edited_chapter_in_view_is_noted_again_only_after_the_next_one_is_begun():
    steps, made = Scripted(obedient), []
    material = edited(written(6, upto=4), 2)

    await write_chapter(material, 5, steps, on_digest=made.append, context_tokens=LARGE)

    assert asked_of(steps, "digest") == [2]
    assert steps.calls[0][0].stage == "chapter"
    assert stored_digest(replace(material, digests={2: made[0]}), material.chapters[1])
    assert material.chapters[1].content in whole(steps.of_stage("chapter")[0])


async def test_a_far_chapter_without_a_digest_is_summed_up_before_the_next_is_written():
    steps, made = Scripted(obedient), []
    material = edited(written(8, upto=7, words=1_500), 1)

    await write_chapter(material, 8, steps, on_digest=made.append, context_tokens=room_for(material, 3))

    assert [(request.stage, request.chapter_number) for request, _ in steps.calls][:2] == [
        ("digest", 1),
        ("chapter", 8),
    ]
    assert "In chapter 1 Mara" in whole(steps.of_stage("chapter")[0])


async def test_a_chapter_with_nothing_left_to_write_after_it_is_noted_at_once():
    steps = Scripted(obedient)
    material = written(6, upto=6)

    draft = await write_chapter(material, 3, steps, context_tokens=LARGE)

    assert draft.digest.content_hash == content_hash(draft.content)


class SlowNotes(Scripted):
    """Notes are answered only after the chapter's reply, or never."""

    def __init__(self, *, ever):
        super().__init__(obedient)
        self.ever, self.chapter_came, self.noting = ever, asyncio.Event(), asyncio.Event()

    async def reply(self, request, *, attempt=0):
        if request.stage == "digest":
            self.noting.set()
            await self.chapter_came.wait()
            if not self.ever:
                await asyncio.Event().wait()
            return await super().reply(request, attempt=attempt)
        if request.on_first_word:
            request.on_first_word()
        await self.noting.wait()
        reply = await super().reply(request, attempt=attempt)
        self.chapter_came.set()
        return reply


class LateFirstWord(Scripted):
    """Counts the notes requested before the chapter's reply begins."""

    early = 0

    async def reply(self, request, *, attempt=0):
        if request.stage == "chapter":
            for _ in range(5):  # everything that can run has run
                await compute(int)
            self.early += len(self.of_stage("digest"))
        return await super().reply(request, attempt=attempt)


async def test_a_note_waits_for_the_chapters_first_word_because_that_fills_the_cache():
    steps, made = LateFirstWord(obedient), []

    await write_chapter(unnoted(written(4, upto=2), 2), 3, steps, on_digest=made.append, context_tokens=LARGE)

    assert steps.early == 0
    assert len(made) == 1


def unnoted(material, number):
    return replace(material, digests={each: digest for each, digest in material.digests.items() if each != number})


async def test_a_chapter_is_written_while_the_note_of_the_previous_one_is_pending():
    made = []

    draft = await write_chapter(
        unnoted(written(4, upto=2), 2), 3, SlowNotes(ever=True), on_digest=made.append, context_tokens=LARGE
    )

    assert draft.content
    assert [digest.chapter_number for digest in made] == [2]


async def test_a_note_that_never_arrives_is_given_up_with_the_chapter(monkeypatch):
    monkeypatch.setattr(notes, "SECONDS", 0)
    made = []

    draft = await write_chapter(
        unnoted(written(4, upto=2), 2), 3, SlowNotes(ever=False), on_digest=made.append, context_tokens=LARGE
    )

    assert draft.content
    assert made == []


@pytest.mark.parametrize(
    "reply",
    ["no json", says("I cannot.", StopReason.REFUSAL), UpstreamAIError("It is away.", stage="digest", retryable=True)],
)
async def test_a_note_that_fails_does_not_fail_the_chapter(reply):
    def fails(request, brief, call):
        if brief["stage"] != "digest":
            return obedient(request, brief, call)
        if isinstance(reply, Exception):
            raise reply
        return reply

    made = []
    draft = await write_chapter(
        unnoted(written(4, upto=2), 2), 3, Scripted(fails), on_digest=made.append, context_tokens=LARGE
    )

    assert draft.content
    assert made == []


async def test_a_prompt_that_does_not_fit_drops_the_far_chapters_first():
    material = written(10, upto=9, words=4_000)
    limit = 50_000

    def refuses(request, brief, call):
        if tokens(whole(request)) + request.max_tokens > limit:
            raise PromptTooLong("Too long.", limit, stage=request.stage, chapter_number=request.chapter_number)
        return obedient(request, brief, call)

    steps = Scripted(refuses)
    await write_chapter(material, 10, steps, context_tokens=LARGE)

    given = whole(steps.of_stage("chapter")[-1])
    assert material.chapters[8].content in given
    assert material.chapters[0].content not in given
    assert "SUMMARY1 " in given


async def test_the_sample_model_notes_the_chapter_in_view():
    chapter = replace(written(4, upto=2).chapters[1], content="The lamp was out. Mara went down to the quay alone.")
    material = unnoted(written(4, upto=2), 2)
    material = replace(material, chapters=(material.chapters[0], chapter, *material.chapters[2:]))
    steps = Scripted(obedient)
    await write_chapter(material, 3, steps, context_tokens=LARGE)

    noted = facts(steps.of_stage("digest")[0], [{"name": "Mara Quist", "description": "keeps the lamp"}])

    assert [fact["quote"] for fact in noted] == ["Mara went down to the quay alone"]


async def test_chapters_are_reworked_with_the_book_in_view():
    material, steps, by_digests = written(6, upto=4), Scripted(obedient), Scripted(obedient)

    await rework_chapters(material, [5], "", steps, context_tokens=LARGE)
    await rework_chapters(material, [5], "", by_digests)

    given = whole(steps.calls[0][0])
    assert all(chapter.content in given for chapter in material.chapters[:4])
    assert "SUMMARY1 " not in given
    assert "SUMMARY1 " in whole(by_digests.calls[0][0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_caller_of_a_model_is_notified_when_the_reply_begins(protocol):
    scripted, heard = Scripted(obedient), []
    await write_chapter(some_material(1, words=300), 1, scripted)
    request = replace(scripted.calls[0][0], on_first_word=lambda: heard.append("a word"))

    async with authored(obedient, protocol) as (_, steps):
        await steps.reply(request)

    assert heard == ["a word"]
