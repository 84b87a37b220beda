"""A memoir is planned, written and noted as a life that is remembered."""

from __future__ import annotations

import re

import pytest

from bookgen.providers.text import TextRequest
from bookgen.writing.chapter import write_chapter
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
            "A chapter's summary says what is remembered, by whom, and what nobody knows any more, and adds no event, "
            "person or saying of the life that the book's data and material do not give",
        ),
        ("chapter", "what is not given is asked, supposed or forgotten, and told as such"),
        (
            "digest",
            "Note what happens in the story's present (in a memoir: in the life that it tells), not what is remembered",
        ),
    ],
)
async def test_each_call_keeps_to_the_life_that_is_remembered(stage: str, told: str) -> None:
    [*calls] = await requests(stage)

    assert calls
    for request in calls:
        assert told in re.sub(r"\s+", " ", "\n".join(request.texts))
