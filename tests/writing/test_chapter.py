"""Chapters keep their length, whole and without a seam, whatever a model does to the replies."""

import random
import re
from dataclasses import replace

import pytest

from bookgen.errors import NotFound, UpstreamAIError
from bookgen.providers.text import StopReason
from bookgen.writing import budget, sentences
from bookgen.writing.chapter import write_chapter
from tests.writing.authored import write_book
from tests.writing.misbehaved import cuts, writes
from tests.writing.scripted import (
    Scripted,
    a_chapter,
    next_number,
    numbers_in,
    obedient,
    prose,
    says,
    sentence,
    some_material,
)


async def drafts_of(steps, material):
    return (await write_book(material, steps))[0]


@pytest.mark.parametrize("language", ["en", "zh", "ja", "th", "ru"])
async def test_a_model_that_writes_any_length_still_fills_the_book(language):
    rng = random.Random(language)
    ideal = Scripted(obedient)
    await drafts_of(ideal, some_material(6, content_language=language))
    steps = Scripted(writes(lambda: rng.uniform(0.25, 1.8)))

    drafts = await drafts_of(steps, some_material(6, content_language=language))

    assert all(abs(draft.word_count - 3_000) <= 300 for draft in drafts)
    assert abs(sum(draft.word_count for draft in drafts) - 18_000) <= 540
    assert len(steps.calls) <= 1.35 * len(ideal.calls)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0, 1.8])
async def test_a_model_that_always_errs_alike_is_seen_through(share):
    steps = Scripted(writes(lambda: share))

    draft = await write_chapter(some_material(), 1, steps)

    assert abs(draft.word_count - 3_000) <= 300
    assert len(steps.calls) <= 1.35 * 5


@pytest.mark.parametrize("words", [1, 40, 300, 1_100, 12_000])
async def test_short_and_long_chapters_keep_their_budgets(words):
    draft = await write_chapter(some_material(2, words=words), 1, Scripted(obedient))

    assert abs(draft.word_count - words) <= max(words * 0.1, 20)


async def test_the_words_written_so_far_are_told_after_every_call():
    told = []

    draft = await write_chapter(some_material(), 1, Scripted(obedient), told.append)

    assert told == sorted(told)
    assert told[-1] == draft.word_count


@pytest.mark.parametrize("language", ["en", "zh", "ja", "ru"])
@pytest.mark.parametrize("seed", range(5))
async def test_cut_replies_leave_no_seam(language, seed):
    steps = Scripted(cuts(random.Random(seed)))

    for draft in await drafts_of(steps, some_material(3, content_language=language)):
        numbers = numbers_in(draft.content)
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert sentences.is_finished(draft.content)
        assert abs(draft.word_count - 3_000) <= 300


async def test_a_part_is_continued_at_most_three_times():
    def always_cut(request, brief, call):
        if brief["stage"] != "chapter":
            return obedient(request, brief, call)
        return says(prose(200, next_number(request, brief)) + " And then", StopReason.LENGTH)

    steps = Scripted(always_cut)

    draft = await write_chapter(some_material(), 1, steps)

    tasks = [request.described()["task"] for request in steps.of_stage("chapter")]
    assert "continue continue continue continue" not in " ".join(tasks)
    assert numbers_in(draft.content) == list(range(10_000, 10_000 + len(numbers_in(draft.content))))


async def test_a_cut_reply_is_continued_in_a_user_turn_after_its_last_whole_sentence():
    def cut_once(request, brief, call):
        if call == 1:
            return says(f"{sentence(10_000)} The door opened and", StopReason.LENGTH)
        return obedient(request, brief, call)

    steps = Scripted(cut_once)

    await write_chapter(some_material(1, words=400), 1, steps)

    asked = steps.calls[1][0]
    assert [message.role for message in asked.messages] == ["user", "assistant", "user"]
    assert asked.messages[1].text == sentence(10_000)
    assert asked.described()["task"] == "continue"


async def test_a_chapter_that_broke_off_at_its_full_length_gets_an_ending():
    def cut_at_the_end(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] == "chapter" and brief["part"] == brief["parts"] and brief["task"] == "write":
            return says(f"{text} And then", StopReason.LENGTH)
        return text

    steps = Scripted(cut_at_the_end)

    draft = await write_chapter(some_material(), 1, steps)

    assert steps.of_stage("chapter")[-1].described()["task"] == "close"
    assert abs(draft.word_count - 3_000) <= 300


@pytest.mark.parametrize("call", [1, 3])
async def test_a_refusal_is_a_typed_error_and_never_prose(call):
    def refuses(request, brief, number):
        return says("I cannot help with that.", StopReason.REFUSAL) if number == call else obedient(request, brief, 0)

    with pytest.raises(UpstreamAIError) as failed:
        await write_chapter(some_material(), 2, Scripted(refuses))

    assert (failed.value.stage, failed.value.chapter_number, failed.value.retryable) == ("chapter", 2, False)


async def test_a_model_that_sends_nothing_ends_in_an_error_that_may_be_retried():
    steps = Scripted(lambda request, brief, call: "")

    with pytest.raises(UpstreamAIError) as failed:
        await write_chapter(some_material(), 1, steps)

    assert failed.value.retryable
    assert [attempt for _, attempt in steps.calls] == [0, 1, 2]


async def test_a_single_empty_reply_is_asked_for_once_more():
    steps = Scripted(lambda request, brief, call: " \n" if call == 2 else obedient(request, brief, call))

    draft = await write_chapter(some_material(), 1, steps)

    assert abs(draft.word_count - 3_000) <= 300


async def test_a_model_that_repeats_itself_for_ever_is_stopped():
    steps = Scripted(lambda request, brief, call: obedient(request, brief, call) if call > 500 else prose(60, 7))

    with pytest.raises(UpstreamAIError, match="of 3000 words"):
        await write_chapter(some_material(), 1, steps)

    assert len(steps.calls) <= budget.most_calls(3_000) + 5


async def test_overlong_text_is_cut_at_a_sentence_end():
    draft = await write_chapter(some_material(1, words=500), 1, Scripted(writes(lambda: 4)))

    assert abs(draft.word_count - 500) <= 50
    assert draft.content.endswith(".")


async def test_what_a_model_says_around_the_prose_is_not_prose():
    def chatty(request, brief, call):
        if brief["stage"] != "chapter":
            return obedient(request, brief, call)
        return (
            "<think>Let me see.</think>Sure! Here is the next part of the chapter:\n\n"
            f"# Chapter 1: {brief['chapter_title']}\n\n"
            f"{obedient(request, brief, call)}\n\n[End of part {brief['part']}]\n\n(Word count: 750)"
        )

    draft = await write_chapter(some_material(), 1, Scripted(chatty))

    assert not re.search(r"Sure|Here is|think|Chapter|End of|Word count", draft.content)
    assert numbers_in(draft.content) == list(range(10_000, 10_000 + len(numbers_in(draft.content))))


async def test_a_run_that_starts_over_pays_for_nothing_twice():
    steps = Scripted(obedient)
    first = await write_chapter(some_material(), 1, steps)
    paid = len(steps.calls)

    second = await write_chapter(some_material(), 1, steps)

    assert (second, len(steps.calls)) == (first, paid)


async def test_a_chapter_that_has_a_text_is_asked_for_afresh():
    steps = Scripted(obedient)
    material = some_material()
    draft = await write_chapter(material, 1, steps)
    paid = len(steps.calls)
    chapters = (a_chapter(1, content=draft.content), *material.chapters[1:])

    await write_chapter(replace(material, chapters=chapters), 1, steps)

    again = steps.calls[paid][0]
    assert len(steps.calls) > paid
    assert draft.content[:60] in again.messages[0].text


async def test_a_chapter_that_is_not_in_the_book_is_not_found():
    with pytest.raises(NotFound):
        await write_chapter(some_material(), 4, Scripted(obedient))
