"""The blurb of a finished book: its prompt, and which replies are accepted."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest

from bookgen.models import BookKind, Digest
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import PromptTooLong, StopReason, TextReply, TextRequest
from bookgen.words import tokens
from bookgen.writing.blurb import draft_blurb
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.structured import UnusableReply
from tests.writing.scripted import Scripted, a_book, a_chapter, prose, says

IDEA = "Mara put out the lamp herself."
BLURB = (
    "Mara keeps the lamp at Sund, and on the longest night of the year somebody puts it out. By the morning a boat is "
    "missing and the whole quay looks at her.\n\nShe has the key, the log with the pages cut from it, and four "
    "neighbours who will not tell her where they were. The ferryman does not take her across before the weather turns. "
    "So she begins with the papers in the loft, and with the one name that stands on all of them."
)
GERMAN = (
    "Mara hütet das Licht von Sund, und in der längsten Nacht des Jahres löscht es jemand. Am Morgen fehlt ein Boot, "
    "und die ganze Mole sieht sie an. Sie hat den Schlüssel, das Buch mit den fehlenden Seiten und vier Nachbarn, die "
    "ihr nicht sagen, wo sie in der Nacht waren. Also beginnt sie mit den Papieren auf dem Boden und mit dem einen "
    "Namen, der auf allen steht."
)


def finished(chapters: int = 3, words: int = 300, **book: Any) -> Material:
    written = [a_chapter(number, content=prose(words, number * 10_000)) for number in range(1, chapters + 1)]
    return Material(a_book(description=IDEA, **book), tuple(written))


def answers(reply: str | TextReply) -> Scripted:
    return Scripted(lambda request, brief, call: reply)


async def drafted(reply: str | TextReply, material: Material | None = None) -> str:
    return await draft_blurb(material or finished(), answers(reply))


async def test_a_blurb_is_taken_as_the_model_sends_it() -> None:
    assert await drafted(BLURB) == BLURB


@pytest.mark.parametrize(
    "reply",
    [
        f"**Blurb:**\n\n{BLURB}",
        f"# The Lamp at Sund\n\n{BLURB}",
        f"The Lamp at Sund\n\n{BLURB}",
        f"Here is the blurb for the back cover:\n\n{BLURB}",
        f"```\n{BLURB}\n```",
        f"“{BLURB}”",
        f"<think>Which third?</think>\n{BLURB}",
        BLURB.replace("missing", "*missing*").replace("Sund", "**Sund**"),
        BLURB.replace(" the ", "\nthe "),
    ],
)
async def test_text_around_the_blurb_is_removed(reply: str) -> None:
    assert await drafted(reply) == BLURB


UNUSABLE = {
    "empty": "",
    "only thoughts": "<think>Nothing comes to mind.",
    "an object": json.dumps({"blurb": BLURB}),
    "a list": json.dumps([BLURB]),
    "a fenced object": f"```json\n{json.dumps({'blurb': BLURB})}\n```",
    "a refusal in words": "I'm sorry, but I can't write that. " + BLURB,
    "a word to its user": BLURB + "\n\nWould you like me to revise it, or to write another blurb for the book?",
    "another language": GERMAN,
    "one sentence": "Mara keeps the lamp.",
    "a chapter": prose(800, 5),
    "cut": says(BLURB, StopReason.LENGTH),
    "cut, and told to be whole": BLURB[:-20],
    "a loop": says(BLURB, StopReason.LOOP),
    "one sentence over and over": "She looks at the lamp in the window. " * 12,
    "the instructions": "Keep to the first third of the book, and give away no surprise of it. Never say how anything "
    "turns out, who did it, or what is found out at the end. Plain, concrete sentences in the present tense, for the "
    "audience that is named. Only what is in the book: no invented names or events, no praise, no prizes, no "
    "quotations from critics.",
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE)
async def test_an_unusable_reply_is_not_accepted(reply: str | TextReply) -> None:
    with pytest.raises(UnusableReply) as error:
        await drafted(reply)

    assert error.value.retryable


async def test_a_passage_copied_from_the_book_is_not_accepted() -> None:
    material = finished()
    passage = BLURB.replace("\n\n", " ")
    chapter = replace(material.chapters[1], content=f"{passage}\n\n{material.chapters[1].content}")

    with pytest.raises(UnusableReply, match="copied from the book"):
        await drafted(BLURB, replace(material, chapters=(material.chapters[0], chapter)))


async def test_a_refusal_is_not_retried() -> None:
    with pytest.raises(ModelRefused) as error:
        await drafted(says("", StopReason.REFUSAL))

    assert not error.value.retryable


async def test_it_is_written_in_the_language_of_the_book() -> None:
    material = finished(content_language="de", genre="Krimi")

    assert await drafted(GERMAN, material) == GERMAN
    with pytest.raises(UnusableReply, match="it is not in German"):
        await drafted(BLURB, material)


async def test_no_language_may_use_its_words_for_this_book_and_no_clue_is_explained() -> None:
    steps = answers(BLURB)
    with contextlib.suppress(UnusableReply):  # it is not in Spanish
        await draft_blurb(finished(content_language="es", genre="Novela policíaca"), steps)
    asked = steps.calls[0][0].system[0].text

    assert 'Nothing like "this book" or "in this book", whatever the language.' in asked
    assert "in a mystery, not even what a clue means" in asked


async def test_the_model_gets_the_first_half_of_a_novel_and_not_the_idea() -> None:
    steps, material = answers(BLURB), finished()

    await draft_blurb(material, steps)

    (request,) = steps.of_stage("blurb")
    asked = "\n".join(request.texts)
    assert "Title: The Lamp at Sund" in asked
    assert "Genre: Mystery novel" in asked
    assert "Audience: Adults" in asked
    assert IDEA not in asked
    assert [chapter.content in asked for chapter in material.chapters] == [True, True, False]
    assert "The first half of its text." in asked
    assert request.patience is not None, "the files of a production wait for it"


@pytest.mark.parametrize("genre", ["Memoir", "Gardening handbook", "Poems"])
async def test_the_model_gets_the_whole_of_a_book_that_has_no_secret(genre: str) -> None:
    steps, material = answers(BLURB), finished(genre=genre)

    await draft_blurb(material, steps)

    (request,) = steps.of_stage("blurb")
    asked = "\n".join(request.texts)
    assert all(chapter.content in asked for chapter in material.chapters)
    assert "Its text:" in asked


async def test_a_long_book_is_given_in_summaries_that_fit_the_window() -> None:
    material = finished(chapters=100, words=2_000)
    digests = {n: Digest(n, content_hash(material.chapter(n).content), f"Digest {n}.", (), (), ()) for n in (2, 3)}
    digests[3] = replace(digests[3], content_hash="of another text")
    steps = answers(BLURB)

    await draft_blurb(replace(material, digests=digests), steps)

    (request,) = steps.of_stage("blurb")
    asked = "\n".join(request.texts)
    assert tokens(asked) + request.max_tokens < 32_000
    assert material.chapters[0].content[:2_000] in asked
    assert "Digest 2." in asked
    assert "Digest 3." not in asked
    assert [f"{n}. {material.chapter(n).title}" in asked for n in range(1, 101)] == [True] * 50 + [False] * 50


async def test_it_fits_a_small_window() -> None:
    def answer(request: TextRequest, brief: dict[str, Any], call: int) -> str:
        if tokens("".join(request.texts)) + request.max_tokens > 4_000:
            raise PromptTooLong("too long", 4_000, stage="blurb", chapter_number=None)
        return BLURB

    assert await draft_blurb(finished(chapters=12, words=1_000), Scripted(answer)) == BLURB


@pytest.mark.parametrize(
    ("tag", "said"), [("en", "is a sample"), ("de", "Muster"), ("fr", "exemple"), ("es", "muestra")]
)
async def test_the_offline_model_labels_its_blurb_as_a_sample(tag: str, said: str) -> None:
    model, material = OfflineModel(), finished(content_language=tag)

    class OfflineSteps:
        async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
            return await model.complete(request)

    blurb = await draft_blurb(material, OfflineSteps())

    assert said in blurb
    assert "The Lamp at Sund" in blurb
    assert IDEA not in blurb


async def test_a_sample_is_accepted_in_any_language() -> None:
    reply = TextReply("This is a sample.", StopReason.END, says("").usage, "offline")

    assert await drafted(reply, finished(content_language="ja")) == "This is a sample."


async def test_a_picture_book_of_a_few_hundred_words_is_asked_for_a_short_blurb() -> None:
    steps = answers(BLURB)

    await draft_blurb(finished(kind=BookKind.CHILDRENS), steps)

    assert "Write the blurb in English (en), 40 to 80 words." in steps.calls[0][0].messages[0].text
