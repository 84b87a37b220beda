"""A memoir is planned, written and noted as a life that is remembered."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bookgen.models import Digest
from bookgen.providers.text import TextRequest
from bookgen.writing.chapter import write_chapter
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import Scripted, a_book, obedient, some_material


async def requests(stage: str) -> list[TextRequest]:
    """The calls of a stage while a memoir of two chapters is planned and its first one is written."""
    steps = Scripted(obedient)
    material = some_material(2, genre="Memoir")
    await draft_outline(a_book(genre="Memoir", chapter_count=2, bible={}), steps)
    await write_chapter(material, 1, steps)
    return steps.of_stage(stage)


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (
            "outline",
            "or which work, place or question of the life it is about, and adds no event, person or saying of the life "
            "that the book's data and material do not give",
        ),
        ("outline", "Author, who remembers: A. Writer"),
        ("chapter", "not as something that happened in the life"),
        ("chapter", "What is not given is asked, supposed or forgotten: say so once"),
        (
            "digest",
            "The present of a memoir is the life that it remembers; what its narrator does not know is noted",
        ),
    ],
)
async def test_each_call_keeps_to_the_life_that_is_remembered(stage: str, told: str) -> None:
    [*calls] = await requests(stage)

    assert calls
    for request in calls:
        assert told in re.sub(r"\s+", " ", "\n".join(request.texts))


@pytest.mark.parametrize(("genre", "told"), [("Memoir", "does not answer stays open"), ("Crime", "settle now")])
async def test_only_a_memoir_may_leave_open_what_its_reader_waits_for(genre: str, told: str) -> None:
    material = some_material(2, genre=genre)
    first = replace(material.chapters[0], content="She found the letter.")
    digest = Digest(1, content_hash(first.content), "She finds a letter.", threads_opened=("Who wrote the letter?",))
    steps = Scripted(obedient)

    await write_chapter(replace(material, chapters=(first, material.chapters[1]), digests={1: digest}), 2, steps)

    asked = steps.of_stage("chapter")[0].messages[-1].text
    assert "Who wrote the letter?" in asked
    assert told in asked
