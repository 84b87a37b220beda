"""Notes of chapters that no later chapter has caused: the last one, and those edited since."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.models import BookKind, Digest
from bookgen.providers.text import CallsHalted, TextRequest
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material
from bookgen.writing.notes import MAX_NOTED, note_rest
from tests.writing.scripted import Scripted, obedient, prose
from tests.writing.test_continuity import written


def a_book(chapters: int, *, noted: int, writer: str = "some model", **fields: object) -> Material:
    """A book whose chapters are all written and whose first ones are noted."""
    material = written(chapters, upto=chapters)
    done = tuple(replace(chapter, writer=writer) for chapter in material.chapters)
    digests = {number: digest for number, digest in material.digests.items() if number <= noted}
    return Material(replace(material.book, **fields), done, digests)


async def noted_now(material: Material, steps: Scripted) -> list[Digest]:
    return [digest async for digest in note_rest(material, steps)]


async def test_the_last_chapter_is_noted_once_with_the_threads_open_before_it() -> None:
    material, steps = a_book(3, noted=2), Scripted(obedient)

    (made,) = await noted_now(material, steps)

    last = material.chapters[-1].content
    assert (made.chapter_number, made.content_hash) == (3, content_hash(last))
    assert made.noted is not None
    assert all(fact.quote in last for fact in made.noted)
    (asked,) = steps.of_stage("digest")
    assert all(thread in asked.messages[-1].text for thread in material.digests[2].threads_opened)
    complete = replace(material, digests={**material.digests, 3: made})
    assert await noted_now(complete, steps) == []


async def test_a_chapter_that_has_changed_is_noted_again() -> None:
    material = a_book(4, noted=4)
    changed = replace(material.chapters[1], content=prose(100, 70_000))
    chapters = (material.chapters[0], changed, *material.chapters[2:])

    made = await noted_now(replace(material, chapters=chapters), Scripted(obedient))

    assert [(each.chapter_number, each.content_hash) for each in made] == [(2, content_hash(changed.content))]


async def test_of_many_chapters_only_the_last_are_noted() -> None:
    made = await noted_now(a_book(MAX_NOTED + 3, noted=0), Scripted(obedient))

    assert [digest.chapter_number for digest in made] == list(range(4, MAX_NOTED + 4))


@pytest.mark.parametrize(
    "material",
    [a_book(2, noted=0, writer=""), a_book(2, noted=0, kind=BookKind.CHILDRENS)],
    ids=["an author's own text", "a children's book"],
)
async def test_no_call_is_made_for_a_book_that_needs_no_notes(material: Material) -> None:
    steps = Scripted(obedient)

    assert await noted_now(material, steps) == []
    assert steps.calls == []


async def test_a_failed_note_is_skipped_and_a_halt_is_raised() -> None:
    def refuses_the_second(request: TextRequest, brief: dict, call: int) -> object:
        return "I cannot do that." if request.chapter_number == 2 else obedient(request, brief, call)

    def halted(request: TextRequest, brief: dict, call: int) -> object:
        raise CallsHalted("digest", request.chapter_number)

    made = await noted_now(a_book(3, noted=0), Scripted(refuses_the_second))
    assert [digest.chapter_number for digest in made] == [1, 3]
    with pytest.raises(CallsHalted):
        await noted_now(a_book(3, noted=2), Scripted(halted))
