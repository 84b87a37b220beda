"""A sample story through the writing code: chapter by chapter, with its texts, notes and findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bookgen.models import Digest
from bookgen.providers.offline import answer
from bookgen.providers.sample.story import SCENE_BREAK, told_in
from bookgen.providers.text import TextReply, TextRequest
from bookgen.writing import chapter as chapters
from bookgen.writing.material import Finding, Material
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import Scripted, a_book, a_chapter, says


def offline(request: TextRequest, brief: dict[str, Any], call: int) -> TextReply:
    return replace(says(answer(request)), model="offline")


async def written(count: int, **fields: Any) -> tuple[list[str], list[Finding]]:
    """The texts of a book written by the offline model, and the findings of the quality gate."""
    steps = Scripted(offline)
    book = a_book(chapter_count=count, genre="Literary fiction", bible={}, **fields)
    outline = await draft_outline(book, steps)
    planned = [
        a_chapter(number, words=each.target_word_count, title=each.title, summary=each.summary)
        for number, each in enumerate(outline.chapters, 1)
    ]
    digests: dict[int, Digest] = {}
    findings: list[Finding] = []
    for index, each in enumerate(planned):
        material = Material(replace(book, bible=outline.bible), tuple(planned), digests)
        draft = await chapters.write_chapter(material, each.chapter_number, steps)
        planned[index] = replace(each, content=draft.content, word_count=draft.word_count)
        findings += draft.findings
        if draft.digest:
            digests[each.chapter_number] = draft.digest
    return [each.content for each in planned], findings


def paragraphs(texts: list[str]) -> list[str]:
    return [block for text in texts for block in text.split("\n\n") if block != SCENE_BREAK]


@pytest.mark.parametrize("count", [3, 5, 10, 20])
async def test_the_sample_book_has_the_whole_story_and_no_findings(count: int) -> None:
    texts, findings = await written(count)

    note, *told = paragraphs(texts)
    assert note.startswith("*This is bookgen’s sample story.")
    assert told == paragraphs([each.text for each in told_in("en", 10)])
    assert findings == []


@pytest.mark.parametrize(("language", "words"), [("de", 2_800), ("fr", 2_900), ("es", 3_000)])
async def test_the_other_sample_stories_are_complete(language: str, words: int) -> None:
    texts, findings = await written(4, content_language=language, target_word_count=words)

    assert paragraphs(texts)[1:] == paragraphs([each.text for each in told_in(language, 1)])
    assert [each.kind for each in findings if each.kind != "length"] == []
