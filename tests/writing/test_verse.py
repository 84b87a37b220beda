"""What is asked of verse, and what may be changed in it, differs from prose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.models import Book
from bookgen.providers.text import StopReason
from bookgen.writing import budget, craft, notes, planning
from bookgen.writing.chapter import write_chapter
from bookgen.writing.proofreading import edits
from bookgen.writing.proofreading.structure import keeps_structure
from bookgen.writing.window import WINDOW
from tests.writing.scripted import Scripted, a_book, a_chapter, obedient, says, some_material

POEMS = a_book(genre="Poetry")
STANZA = "## Exchange\n\nI write it down: what came,\nwhat went, and, known, the name.\n\nSo."


def test_each_poem_of_a_chapter_is_asked_for_with_its_title_over_it() -> None:
    verse, novel = craft.craft(POEMS), craft.craft(a_book(genre="Novel"))

    assert "each begins with its title as a `##` heading" in verse
    assert "no headings" not in verse
    assert "paragraphs separated by an empty line" not in verse
    assert "no headings" in novel


@pytest.mark.parametrize(
    ("book", "told", "not_told"),
    [
        (POEMS, ["each of its poems"], ["who wants what", "which question"]),
        (a_book(genre="Krimi"), ["who wants what"], ["poems", "which question", "remembered"]),
        (a_book(genre="Ratgeber"), ["which question"], ["poems", "who wants what"]),
        (a_book(genre="Gardening"), ["who wants what", "which question", "remembered", "poems"], []),
    ],
    ids=["verse", "fiction", "non-fiction", "unknown"],
)
def test_a_plan_is_asked_for_what_its_kind_of_book_needs(book: Book, told: list[str], not_told: list[str]) -> None:
    asked = planning.editor(book, WINDOW).text

    assert [words for words in told if words not in asked] == []
    assert [words for words in not_told if words in asked] == []


@pytest.mark.parametrize(
    ("passage", "replacement", "keeps"),
    [
        ("what came,\nwhat went, and, known, the name", "what came,\nwhat went, and whose the name", True),
        ("what came,\nwhat went", "what came and went", False),
        ("what came,", "what\ncame,", False),
        ("the name.\n\nSo", "the name\n\nSo", False),
        ("came,\nwhat went", "came,\n\nwhat went", False),
    ],
    ids=["the same lines", "one line less", "one line more", "two stanzas", "a stanza divided"],
)
def test_an_edit_may_reach_over_a_line_break_but_not_change_it(passage: str, replacement: str, keeps: bool) -> None:
    start = STANZA.index(passage)

    assert keeps_structure(STANZA, start, start + len(passage), replacement) is keeps


async def test_a_proofreader_of_verse_leaves_its_lines_alone() -> None:
    steps = Scripted(lambda request, brief, call: '{"edits": []}')
    chapter = a_chapter(1, content=STANZA)
    for book in (POEMS, a_book(genre="Novel")):
        await edits.proposed(book, chapter, edits.windows(STANZA)[0], steps, WINDOW)
    verse, novel = (request.system[0].text for request in steps.of_stage(edits.STAGE))

    assert "line breaks" in verse
    assert "line breaks" not in novel


def test_a_deeply_indented_line_can_be_changed() -> None:
    stanza = "The tide came in\n\n        over the wall, over the grass."
    start = stanza.index("over the grass")

    assert keeps_structure(stanza, start, start + len("over the grass"), "over the path")


async def test_poems_are_not_noted() -> None:
    steps = Scripted(obedient)
    material = some_material(3, genre="Poetry")
    first = replace(material.chapters[0], content="Not drink.\nNot boys.", writer="a-model")
    material = replace(material, chapters=(first, *material.chapters[1:]))

    await write_chapter(material, 2, steps, context_tokens=200_000)
    rest = [digest async for digest in notes.note_rest(material, steps)]

    assert (rest, steps.of_stage("digest")) == ([], [])
    assert first.content in "\n".join(steps.of_stage("chapter")[0].texts)


async def test_poems_are_asked_for_by_their_lines_and_keep_the_length_that_they_come_to() -> None:
    """A chapter of prose of twice its length is requested again in a tighter version. A poem is as long as its form."""
    long = "\n".join(f"the salt is heavy in the {word} she wore" for word in ("hem", "seam", "sack") * 60)
    steps = Scripted(lambda *_: long)
    first = a_chapter(1, content="Salt, and no more.", target_word_count=1_000)

    written = await write_chapter(
        replace(some_material(2), book=POEMS, chapters=(first, a_chapter(2, target_word_count=800))), 2, steps
    )

    (request,) = steps.of_stage("chapter")
    assert "every poem that its summary names" in request.texts[-1]
    assert "about 800 words in all" in request.texts[-1]
    assert written.content == long
    assert [finding.kind for finding in written.findings] == ["length"]


def test_no_section_of_poems_is_asked_to_make_up_for_the_pace_of_the_others() -> None:
    chapters = [a_chapter(number, content="salt " * 480, target_word_count=300) for number in (1, 2)]

    assert budget.goal_for(chapters[1], chapters).ask < 300
    assert budget.goal_for(chapters[1], chapters, in_lines=True).ask == 300


async def test_poems_that_broke_off_are_continued_and_not_brought_to_an_end() -> None:
    """A chapter of prose that broke off at its full length is closed in a few words: the other poems would be lost."""
    poem = "\n".join(["the salt is heavy in the hem she wore"] * 100)
    replies = iter([says(poem, StopReason.LENGTH), says("## Rain\n\nWet salt grows heavier.\nThe wipers work.")])
    steps = Scripted(lambda *_: next(replies))

    written = await write_chapter(
        replace(some_material(2), book=POEMS, chapters=(a_chapter(1, target_word_count=800),)), 1, steps
    )

    first, second = steps.of_stage("chapter")
    assert first.max_tokens > 4_000
    assert "long enough now" not in second.texts[-1]
    assert written.content.endswith("The wipers work.")


@pytest.mark.parametrize("genre", ["Children's poems", "Poetry"])
async def test_a_book_that_is_not_planned_in_poems_is_not_asked_for_poems(genre: str) -> None:
    book = a_book(genre=genre, bible={"kind": "memoir"} if genre == "Poetry" else {})
    steps = Scripted(obedient)

    await write_chapter(replace(some_material(2), book=book), 1, steps)

    assert "every poem" not in steps.of_stage("chapter")[0].texts[-1]
