"""Nonsense is accepted neither as a chapter nor as an outline: it is requested again, and then it is an error."""

import json
import re
from dataclasses import replace

import pytest

from bookgen.errors import UpstreamAIError
from bookgen.providers.text import StopReason
from bookgen.writing import sentences
from bookgen.writing.chapter import write_chapter
from bookgen.writing.echo import without_echo
from bookgen.writing.nonsense import problem_with
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import Scripted, a_book, obedient, outline_reply, says, some_material

GERMAN = (
    "Der alte Mann ging durch die Stadt und sah auf das Meer, das nicht zu Ende war. Er hatte sich auch mit dem Boot "
    "auf den Weg gemacht, und es war für ihn wie eine Rückkehr. "
)


def echoes(request):
    return f"{request.system[0].text}\n\n{request.messages[-1].text}"


def split_at_a_clause(request):
    """As a model of 135 million parameters does it."""
    length = re.search(r"The chapter shall have .* in all; you write it in [^.]*\.", request.messages[-1].text)
    return (length[0] if length else "Repeat nothing.").replace("; you", ". You")


NONSENSE = {
    "its length": (split_at_a_clause, "repeats its instr|of 900 words"),
    "its instructions": (lambda request: echoes(request), "repeats its instructions"),
    "the last instruction": (
        lambda _: "Repeat nothing, announce nothing. " * 3,
        "repeats its instr|of 900 words",
    ),
    "another language": (lambda _: GERMAN * 10, "not in English"),
    "one sentence": (lambda _: "The tide came in and nobody spoke of it. " * 40, "same over and over"),
    "a few words": (lambda _: "He waited by the door.", "words|over and over"),
    "nothing": (lambda _: "", "0 of"),
}


@pytest.mark.parametrize(("text", "problem"), NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_is_not_accepted_as_a_chapter_and_the_error_gives_the_reason(text, problem):
    def nonsensical(request, brief, call):
        return text(request) if brief["stage"] == "chapter" else obedient(request, brief, call)

    steps = Scripted(nonsensical)

    with pytest.raises(UpstreamAIError, match=problem) as failed:
        await write_chapter(some_material(1, words=900), 1, steps)

    assert (failed.value.stage, failed.value.chapter_number, failed.value.retryable) == ("chapter", 1, True)
    assert len(steps.calls) <= 8


@pytest.mark.parametrize("kind", ["its instructions", "another language", "one sentence"])
async def test_a_model_that_does_better_after_the_correction_gets_its_chapter_accepted(kind):
    def careless_once(request, brief, call):
        return NONSENSE[kind][0](request) if call == 1 else obedient(request, brief, call)

    steps = Scripted(careless_once)

    draft = await write_chapter(some_material(1, words=900), 1, steps)

    first, second = steps.of_stage("chapter")[:2]
    assert abs(draft.word_count - 900) <= 90
    assert "could not be used" in second.messages[-1].text
    assert "could not be used" not in first.messages[-1].text


@pytest.mark.parametrize("kind", ["its instructions", "another language", "one sentence"])
async def test_progress_counts_only_words_that_are_kept(kind):
    def careless_once(request, brief, call):
        return NONSENSE[kind][0](request) if call == 1 else obedient(request, brief, call)

    heard: list[int] = []

    draft = await write_chapter(some_material(1, words=900), 1, Scripted(careless_once), heard.append)

    assert heard == [draft.word_count]


async def test_instructions_repeated_inside_good_text_are_removed():
    said: list[str] = []

    def chatty(request, brief, call):
        text = obedient(request, brief, call)
        if brief["stage"] != "chapter" or brief["part"] != 2:
            return text
        said.append(sentences.last(request.messages[-1].text))
        return f"{text}\n\n{said[0]}"

    draft = await write_chapter(replace(some_material(1, words=1_800), in_parts=True), 1, Scripted(chatty))

    assert said[0] not in draft.content
    assert [(change.kind, change.before) for change in draft.changes] == [("instructions", said[0])]
    assert said[0] in str(draft.original)


@pytest.mark.parametrize(
    "paragraph",
    ["Say a thing once, the aunt used to tell us, and say it plainly.", "Say a thing once. She never did."],
)
def test_a_paragraph_that_shares_words_with_the_instructions_stays(paragraph):
    cleaned = without_echo(f"It rained.\n\n{paragraph}", "Say a thing once. Repeat nothing, announce nothing.")

    assert (cleaned.text, cleaned.changes) == (f"It rained.\n\n{paragraph}", ())


def test_sounds_and_refrains_do_not_count_as_endless_repetition():
    row = "Row, row, row your boat, gently down the stream. "

    assert problem_with("Plip, says the rain. " * 12, a_book(genre="Mystery"), []) == ""
    assert (
        problem_with(row * 4 + "Merrily, merrily, merrily, merrily, life is but a dream.", a_book(genre="Poetry"), [])
        == ""
    )
    assert problem_with(row * 12, a_book(genre="Mystery"), []) != ""


def test_a_bilingual_book_may_be_in_its_other_language():
    assert problem_with(GERMAN, a_book(description="A bilingual reader for children."), []) == ""
    assert problem_with(GERMAN, a_book(), []) != ""


async def test_after_a_loop_the_request_is_rephrased_and_the_chapter_continues():
    def loops_once(request, brief, call):
        text = obedient(request, brief, call)
        return says(text[: len(text) // 2], StopReason.LOOP) if call == 1 else text

    steps = Scripted(loops_once)

    draft = await write_chapter(some_material(1, words=900), 1, steps)

    assert abs(draft.word_count - 900) <= 90
    assert "repeats one passage" in steps.calls[1][0].messages[-1].text


async def test_a_failed_digest_does_not_fail_the_chapter():
    def gone(request, brief, call):
        if brief["stage"] == "digest":
            raise UpstreamAIError("The model provider could not be reached.", stage="digest", retryable=True)
        return obedient(request, brief, call)

    draft = await write_chapter(some_material(2, words=900), 1, Scripted(gone))

    assert draft.digest is None
    assert [finding.kind for finding in draft.findings] == ["digest"]


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        ("Who wants what, what stands in the way, what changes and what is left open. {}", "repeats the instructions"),
        (GERMAN + "{}", "not in English"),
    ],
)
async def test_an_outline_of_nonsense_is_refused_with_the_reason(summary, problem):
    def nonsensical(request, brief, call):
        reply = json.loads(outline_reply(brief))
        chapters = [{**each, "summary": summary.format(each["number"])} for each in reply["chapters"]]
        return json.dumps({**reply, "chapters": chapters})

    with pytest.raises(UpstreamAIError, match=problem):
        await draft_outline(a_book(bible={}), Scripted(nonsensical))


@pytest.mark.parametrize("language", ["en", "zh", "ja", "th", "ru"])
async def test_plain_prose_is_not_nonsense(language):
    draft = await write_chapter(some_material(1, words=900, content_language=language), 1, Scripted(obedient))

    assert abs(draft.word_count - 900) <= 90
