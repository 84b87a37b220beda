"""Chapters keep their length, complete and joined without gaps, whatever happens to the replies."""

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


@pytest.mark.parametrize("words", [400, 1_500, 4_000])
@pytest.mark.parametrize("share", [0.65, 0.86, 1.16, 1.55])
async def test_a_finished_text_is_kept_to_its_last_word_and_takes_one_call(words, share):
    steps = Scripted(writes(lambda: share))

    draft = await write_chapter(some_material(2, words=words), 1, steps)

    [reply] = [reply for (key, _), reply in steps.stored.items() if reply.text[:1] != "{"]
    assert draft.content == reply.text
    assert [request.stage for request, _ in steps.calls] == ["chapter", "digest"]


@pytest.mark.parametrize("language", ["en", "zh", "ja", "th", "ru"])
async def test_a_book_keeps_its_length_even_if_its_chapters_vary(language):
    rng = random.Random(language)
    steps = Scripted(writes(lambda: rng.uniform(0.7, 1.3)))

    drafts = await drafts_of(steps, some_material(12, words=2_000, content_language=language))

    assert abs(sum(draft.word_count for draft in drafts) - 24_000) <= 2_400
    asked = [request.described()["words"] for request in steps.of_stage("chapter")]
    assert all(2_000 * 0.75 <= ask <= 2_000 * 1.25 for ask in asked)
    assert len(asked) == 12


@pytest.mark.parametrize("share", [0.8, 1.25])
async def test_a_model_that_is_always_too_long_or_too_short_gets_adjusted_targets(share):
    drafts = await drafts_of(Scripted(writes(lambda: share)), some_material(12))

    assert abs(sum(draft.word_count for draft in drafts) - 36_000) <= 3_600


@pytest.mark.parametrize(("written", "asked"), [(1_300, (797, 900)), (700, (1_250, 1_100))])
def test_a_model_that_drifts_is_asked_for_other_lengths_by_a_tenth_at_most_in_the_last_chapter(written, asked):
    chapters = [a_chapter(number, words=1_000) for number in range(1, 11)]
    chapters[:2] = [replace(each, content="x", word_count=written) for each in chapters[:2]]

    middle, last = budget.goal_for(chapters[2], chapters), budget.goal_for(chapters[9], chapters)

    assert (middle.ask, last.ask) == asked
    assert (middle.aim, last.aim) == (1_000, 1_000)


def test_after_a_single_long_chapter_the_next_is_asked_for_little_less():
    chapters = [a_chapter(number, words=1_000) for number in range(1, 11)]
    chapters[0] = replace(chapters[0], content="x", word_count=1_200)

    assert budget.goal_for(chapters[1], chapters).ask == 909


@pytest.mark.parametrize(("written", "asked"), [(1_200, 1_000), (1_600, 882), (700, 1_250)])
def test_a_short_book_is_asked_for_less_only_if_its_chapters_are_far_too_long(written, asked):
    chapters = [a_chapter(number, words=1_000) for number in range(1, 10)]
    chapters[:2] = [replace(each, content="x", word_count=written) for each in chapters[:2]]

    assert budget.goal_for(chapters[2], chapters).ask == asked


async def test_the_last_chapter_is_not_noted_because_nothing_follows_it():
    steps = Scripted(obedient)

    draft = await write_chapter(some_material(2), 2, steps)

    assert (draft.digest, draft.findings) == (None, ())
    assert not steps.of_stage("digest")


@pytest.mark.parametrize("share", [0.25, 0.5])
async def test_after_far_too_short_a_chapter_the_model_writes_in_parts(share):
    steps = Scripted(writes(lambda: share))

    drafts = await drafts_of(steps, some_material(3))

    first = steps.of_stage("chapter")[0].described()
    assert (first["parts"], first["words"]) == (1, 3_000)
    later = [request.described() for request in steps.of_stage("chapter") if request.chapter_number > 1]
    assert all(asked["parts"] > 1 for asked in later if asked["part"] == 1)
    assert all(draft.word_count >= 0.75 * 3_000 for draft in drafts)


async def test_a_chapter_begun_in_parts_continues_in_parts_after_an_interruption():
    steps = Scripted(writes(lambda: 0.4))
    in_parts = replace(some_material(), in_parts=True)
    first = await write_chapter(in_parts, 2, steps)
    paid = len(steps.calls)

    second = await write_chapter(some_material(), 2, steps)

    assert (second.content, len(steps.calls)) == (first.content, paid)


@pytest.mark.parametrize("words", [1, 40, 300, 1_100, 12_000])
async def test_short_and_long_chapters_keep_their_budgets(words):
    draft = await write_chapter(some_material(2, words=words), 1, Scripted(obedient))

    assert abs(draft.word_count - words) <= max(words * 0.1, 20)


async def test_the_words_written_so_far_are_reported_after_every_call():
    told = []

    draft = await write_chapter(some_material(), 1, Scripted(obedient), told.append)

    assert told == sorted(told)
    assert told[-1] == draft.word_count


@pytest.mark.parametrize("language", ["en", "zh", "ja", "ru"])
@pytest.mark.parametrize("seed", range(5))
async def test_cut_replies_are_joined_without_a_gap_or_a_repetition(language, seed):
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


async def test_a_cut_reply_is_continued_in_a_user_turn_after_its_last_complete_sentence():
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


async def test_a_chapter_cut_at_its_full_length_gets_an_ending():
    def cut_at_the_end(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] == "chapter" and brief["part"] == brief["parts"] and brief["task"] == "write":
            return says(f"{text} And then", StopReason.LENGTH)
        return text

    steps = Scripted(cut_at_the_end)

    draft = await write_chapter(some_material(), 1, steps)

    assert steps.of_stage("chapter")[-1].described()["task"] == "close"
    assert abs(draft.word_count - 3_000) <= 300


@pytest.mark.parametrize("call", [1, 2])
async def test_a_refusal_is_a_typed_error_and_never_part_of_the_text(call):
    def refuses(request, brief, number):
        return says("I cannot help with that.", StopReason.REFUSAL) if number == call else obedient(request, brief, 0)

    with pytest.raises(UpstreamAIError) as failed:
        await write_chapter(some_material(words=6_000), 2, Scripted(refuses))

    assert (failed.value.stage, failed.value.chapter_number, failed.value.retryable) == ("chapter", 2, False)


async def test_empty_replies_end_in_an_error_that_can_be_retried():
    steps = Scripted(lambda request, brief, call: "")

    with pytest.raises(UpstreamAIError) as failed:
        await write_chapter(some_material(), 1, steps)

    assert failed.value.retryable
    assert [attempt for _, attempt in steps.calls] == [0, 1, 2]


async def test_a_single_empty_reply_is_requested_again():
    steps = Scripted(lambda request, brief, call: " \n" if call == 2 else obedient(request, brief, call))

    draft = await write_chapter(some_material(), 1, steps)

    assert abs(draft.word_count - 3_000) <= 300


async def test_a_model_that_repeats_itself_forever_is_stopped():
    steps = Scripted(lambda request, brief, call: obedient(request, brief, call) if call > 500 else prose(60, 7))

    with pytest.raises(UpstreamAIError, match=r"has 71 of 750 words"):
        await write_chapter(some_material(), 1, steps)

    assert len(steps.calls) <= budget.max_calls(3_000, budget.Lengths(800, 1_000, 16_000)) + 5


def runs_away(second: float, stop: StopReason = StopReason.END):
    """A model that writes twice the requested words, and `second` times the words when asked to be concise."""

    def answer(request, brief, call):
        if brief["stage"] != "chapter":
            return obedient(request, brief, call)
        is_second = "told more tightly" in request.messages[-1].text
        return says(prose(brief["words"] * (second if is_second else 2), 20_000 if is_second else 10_000), stop)

    return answer


async def test_a_chapter_that_runs_on_is_written_again_and_the_first_version_can_be_restored():
    steps = Scripted(runs_away(1.1))

    draft = await write_chapter(some_material(1), 1, steps)

    assert len(steps.calls) == 2
    assert numbers_in(draft.content)[0] == 20_000
    assert abs(draft.word_count - 3_300) <= 30
    [change] = draft.changes
    assert change.kind == "runaway"
    assert "6,017 words where 3,000 were asked for" in change.detail
    assert numbers_in(change.before)[0] == 10_000
    assert draft.original == change.before


@pytest.mark.parametrize("second", [2.5, 0.3])
async def test_a_chapter_that_runs_on_stays_if_the_second_version_is_no_better(second):
    steps = Scripted(runs_away(second))

    draft = await write_chapter(some_material(1), 1, steps)

    assert len(steps.calls) == 2
    assert numbers_in(draft.content) == list(range(10_000, 10_000 + len(numbers_in(draft.content))))
    assert abs(draft.word_count - 6_000) <= 30
    assert {finding.kind for finding in draft.findings} == {"runaway", "length"}


@pytest.mark.parametrize(
    ("ending", "findings"),
    [
        (
            "And the door opened, and she said that it was as good a day as any other to begin with the first of them,",
            ["unfinished"],
        ),
        ("Yours, as ever,\n\nAnna", []),
        ("She turned to the harbour and looked for the light that had been there all the years of her life—", []),
    ],
)
async def test_a_chapter_that_ends_without_a_full_stop_keeps_its_ending(ending, findings):
    def open_ended(request, brief, call):
        text = obedient(request, brief, call)
        return f"{text}\n\n{ending}" if brief["stage"] == "chapter" else text

    steps = Scripted(open_ended)

    draft = await write_chapter(some_material(1, words=600), 1, steps)

    assert draft.content.endswith(ending)
    assert len(steps.calls) == 1
    assert [finding.kind for finding in draft.findings] == findings


async def test_remarks_around_the_prose_are_removed():
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


async def test_a_restarted_run_pays_for_nothing_twice():
    steps = Scripted(obedient)
    first = await write_chapter(some_material(), 1, steps)
    paid = len(steps.calls)

    second = await write_chapter(some_material(), 1, steps)

    assert (second, len(steps.calls)) == (first, paid)


async def test_rewriting_a_chapter_makes_a_new_request():
    steps = Scripted(obedient)
    material = some_material()
    draft = await write_chapter(material, 1, steps)
    paid = len(steps.calls)
    chapters = (a_chapter(1, content=draft.content), *material.chapters[1:])

    await write_chapter(replace(material, chapters=chapters), 1, steps)

    again = steps.calls[paid][0]
    assert len(steps.calls) > paid
    assert draft.content[:60] in again.messages[0].text


async def test_an_unknown_chapter_is_not_found():
    with pytest.raises(NotFound):
        await write_chapter(some_material(), 4, Scripted(obedient))
