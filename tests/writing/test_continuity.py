"""The prompt of a chapter: the book, every earlier chapter, open threads and the last lines, ordered for caching."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from bookgen.models import Digest
from bookgen.providers.text import StopReason
from bookgen.words import count_words, tokens
from bookgen.writing import window
from bookgen.writing.chapter import write_chapter
from bookgen.writing.continuity import open_threads
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material
from tests.writing.scripted import Scripted, a_chapter, digest_reply, obedient, prose, says, some_material


def written(chapters, *, upto, words=400, language="en", **book):
    """A book whose first chapters are written and summed up."""
    material = some_material(chapters, words=words, content_language=language, **book)
    done, digests = [], {}
    for chapter in material.chapters:
        if chapter.chapter_number <= upto:
            content = prose(words, chapter.chapter_number * 10_000, language)
            chapter = replace(chapter, content=content, word_count=count_words(content))
            digests[chapter.chapter_number] = a_digest(chapter.chapter_number, content)
        done.append(chapter)
    return Material(material.book, tuple(done), digests)


def a_digest(number, content):
    return Digest(
        number,
        content_hash(content),
        f"SUMMARY{number} she crosses the sound and finds the door.",
        (f"FACT{number} Mara holds a key",),
        (f"THREAD{number}?",),
        (f"THREAD{number - 1}?",) if number % 2 == 0 else (),
    )


def whole(request):
    return "\n".join([*(block.text for block in request.system), *(message.text for message in request.messages)])


async def test_every_call_has_the_bible_and_all_summaries_and_the_end_of_the_last_chapter():
    material = written(9, upto=6, words=1_600)
    steps = Scripted(obedient)

    await write_chapter(material, 7, steps)

    for request in steps.of_stage("chapter"):
        given = whole(request)
        assert "grey eyes" in given  # the bible
        assert all(f"SUMMARY{number} " in given and f"FACT{number} " in given for number in range(1, 7))
        assert all(chapter.title in given and chapter.summary in given for chapter in material.chapters)
        tail = " ".join(material.chapters[5].content.split()[-150:])
        assert tail in " ".join(given.split())


async def test_only_open_threads_are_listed_as_open():
    digests = [a_digest(number, "x") for number in range(1, 6)]

    assert open_threads(digests) == ["THREAD2?", "THREAD4?", "THREAD5?"]


async def test_the_prompt_names_the_next_chapter_so_that_it_is_not_anticipated():
    material = written(4, upto=1)
    steps = Scripted(obedient)

    await write_chapter(material, 2, steps)

    assert material.chapters[2].summary in steps.calls[0][0].messages[0].text


async def test_a_long_chapter_is_in_view_word_for_word_while_it_is_written():
    steps = Scripted(obedient)

    draft = await write_chapter(replace(some_material(8, words=6_000), in_parts=True), 1, steps)

    last = steps.of_stage("chapter")[-1]
    said = " ".join(message.text for message in last.messages if message.role == "assistant")
    assert len(steps.of_stage("chapter")) > 6
    assert count_words(said) > 0.8 * draft.word_count


async def test_each_part_is_told_its_share_of_the_chapter():
    steps = Scripted(obedient)

    await write_chapter(replace(some_material(2, words=2_400), in_parts=True), 1, steps)

    asked = [request.messages[-1].text for request in steps.of_stage("chapter")]
    assert "part 1 of 3" in asked[0]
    assert "2 more parts come after it" in asked[0]
    assert "One more part comes after it" in asked[1]
    assert "that has not been told yet" in asked[2]


async def test_the_last_chapter_is_told_to_resolve_the_open_threads():
    steps = Scripted(obedient)

    await write_chapter(written(3, upto=2), 3, steps)

    given = steps.calls[0][0].messages[0].text
    assert "The book ends with this chapter" in given
    assert "leave the others open" not in given


async def test_a_finished_chapter_is_summed_up_once():
    steps = Scripted(obedient)

    draft = await write_chapter(some_material(2, words=300), 1, steps)

    assert draft.digest.content_hash == content_hash(draft.content)
    assert draft.digest.facts == ("Mara: owns key number 1", "the log: has 1 pages missing")
    assert all(fact.quote in draft.content for fact in draft.digest.noted)
    assert len(steps.of_stage("digest")) == 1


async def test_only_an_edited_chapter_is_summed_up_again():
    material = written(6, upto=4)
    edited = replace(material.chapters[1], content="She had never left the house at all.")
    material = replace(material, chapters=(material.chapters[0], edited, *material.chapters[2:]))
    steps = Scripted(obedient)

    await write_chapter(material, 5, steps)

    assert [request.chapter_number for request in steps.of_stage("digest")] == [2, 5]
    assert "In chapter 2 Mara counts days" in whole(steps.of_stage("chapter")[0])


async def test_for_a_pasted_book_the_nearest_chapters_are_summed_up_and_the_others_are_excerpted():
    material = replace(written(40, upto=39, words=6_000), digests={})
    steps, made = Scripted(obedient), []

    await write_chapter(material, 40, steps, on_digest=made.append)

    asked = [request.chapter_number for request in steps.of_stage("digest")]
    assert asked == [*range(asked[0], 40)]
    assert 3 <= len(made) == len(asked) <= 8
    told = "\n".join(block.text for block in steps.of_stage("chapter")[0].system)
    assert all(chapter.content.split(".")[0] in told for chapter in material.chapters[: asked[0] - 1])

    again, more = Scripted(obedient), []
    kept = {digest.chapter_number: digest for digest in made}
    await write_chapter(replace(material, digests=kept), 40, again, on_digest=more.append)

    assert [digest.chapter_number for digest in more] == list(range(asked[0] - len(more), asked[0]))


async def test_threads_can_be_closed_by_number():
    material = written(3, upto=1)
    steps = Scripted(obedient)

    draft = await write_chapter(material, 2, steps)

    assert draft.digest.threads_closed == ("THREAD1?",)


@pytest.mark.parametrize("reply", ["no json", says("I cannot.", StopReason.REFUSAL)])
async def test_a_chapter_is_kept_if_its_digest_fails(reply):
    def no_digest(request, brief, call):
        return reply if brief["stage"] == "digest" else obedient(request, brief, call)

    draft = await write_chapter(some_material(2, words=300), 1, Scripted(no_digest))

    assert draft.digest is None
    assert [finding.kind for finding in draft.findings] == ["digest"]


async def test_without_a_digest_the_text_itself_is_used():
    material = replace(written(3, upto=1), digests={})

    def no_digest(request, brief, call):
        return "no json" if brief["stage"] == "digest" else obedient(request, brief, call)

    steps = Scripted(no_digest)
    await write_chapter(material, 2, steps)

    opening = material.chapters[0].content.split(".")[0]
    assert opening in steps.of_stage("chapter")[0].system[1].text


@pytest.mark.parametrize("language", ["en", "zh", "th", "ru"])
async def test_a_book_of_120_long_chapters_fits_the_context_window(language):
    filler = prose(90, 1, language)
    material = written(120, upto=119, words=60, language=language, description=filler * 8)
    bible = {key: [{"name": f"N{n}", "description": filler} for n in range(24)] for key in ("people", "places")}
    digests = {
        number: replace(digest, summary=filler, facts=(filler[:160],) * 8, threads_opened=(filler[:160],) * 4)
        for number, digest in material.digests.items()
    }
    chapters = tuple(replace(chapter, summary=filler, target_word_count=3_000) for chapter in material.chapters)
    material = Material(replace(material.book, bible=bible), chapters, digests)
    steps = Scripted(obedient)

    await write_chapter(material, 120, steps)

    for request, _ in steps.calls:
        assert tokens(whole(request)) + request.max_tokens <= window.WINDOW


async def test_the_cached_prefix_of_a_chapter_starts_the_prompt_of_the_next():
    material = written(8, upto=5)
    steps = Scripted(obedient)
    await write_chapter(material, 5, steps)
    await write_chapter(material, 6, steps)

    before, after = (
        next(request for request in steps.of_stage("chapter") if request.chapter_number == number) for number in (5, 6)
    )
    texts = [block.text for block in before.system]
    assert [block.text for block in after.system][: len(texts)] == texts


async def test_the_turns_of_a_chapter_are_only_ever_extended():
    steps = Scripted(obedient)
    await write_chapter(some_material(), 1, steps)

    turns = [[message.text for message in request.messages] for request in steps.of_stage("chapter")]
    for before, after in itertools.pairwise(turns):
        assert after[: len(before)] == before


async def test_no_request_marks_more_than_four_prefixes():
    steps = Scripted(obedient)
    await write_chapter(written(8, upto=6, words=2_400), 7, steps)

    for request, _ in steps.calls:
        marks = [part.cache for part in (*request.system, *request.messages)]
        assert sum(marks) <= 4
        assert request.stage != "chapter" or marks[0]


async def test_the_same_book_gives_the_same_requests_byte_for_byte():
    def keys(bible):
        return {name: bible[name] for name in sorted(bible, reverse=True)}

    material = written(4, upto=2)
    one, other = Scripted(obedient), Scripted(obedient)
    await write_chapter(material, 3, one)
    await write_chapter(replace(material, book=replace(material.book, bible=keys(material.book.bible))), 3, other)

    assert [request for request, _ in one.calls] == [request for request, _ in other.calls]


ASKED = """
import asyncio, hashlib, random
from tests.writing.authored import write_book
from tests.writing.misbehaved import repeats
from tests.writing.scripted import Scripted, some_material
steps = Scripted(repeats(random.Random(1)))
asyncio.run(write_book(some_material(4, words=900), steps))
print(hashlib.sha256(repr([call for call in steps.calls]).encode()).hexdigest())
"""


def test_another_process_makes_the_same_requests_byte_for_byte():
    asked = {
        subprocess.run(
            [sys.executable, "-c", ASKED],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(asked) == 1


def test_the_scripted_digest_reply_is_json():
    assert json.loads(digest_reply({"chapter_number": 3, "threads": []}, "One two."))["facts"]


async def test_a_chapter_far_longer_than_the_window_still_sees_its_own_beginning():
    material = Material(some_material(1).book, (a_chapter(1, words=14_000),), {})
    steps = Scripted(obedient)

    await write_chapter(material, 1, steps)

    for request, _ in steps.calls:
        assert tokens(whole(request)) + request.max_tokens <= window.WINDOW
    assert all("Write the book's only chapter" in request.messages[0].text for request in steps.of_stage("chapter"))
