"""Long paragraphs that occur twice: removed where it is certain, otherwise reported."""

from __future__ import annotations

import pytest

from bookgen.writing.quality import inspect
from bookgen.writing.repetition import repeated_paragraphs, without_doubles
from tests.writing.scripted import prose, sentence, some_material

ONCE = prose(40, 1).replace("\n\n", " ")
FRESH = [sentence(number) for number in range(100, 1_000, 100)]


@pytest.mark.parametrize(
    ("blocks", "reported"),
    [
        ([ONCE, *FRESH, ONCE], [10]),
        ([FRESH[0], f"- {ONCE}", FRESH[1], f"- {ONCE}", FRESH[2]], [3]),
        (["Dear Ned,", ONCE, FRESH[0], "Yours,", "Jane", FRESH[1], "Dear Ned,", ONCE, "Yours,", "Jane"], [7]),
        ([FRESH[0], f"> {ONCE}", FRESH[1], f"> {ONCE}", FRESH[2]], []),
        ([FRESH[0], ONCE.replace(" ", "\n"), FRESH[1], ONCE.replace(" ", "\n"), FRESH[2]], []),
    ],
    ids=["an opening that comes back", "an item of a list", "a letter", "a quotation", "verse"],
)
def test_a_paragraph_repeated_possibly_on_purpose_is_kept_and_reported(blocks, reported):
    content = "\n\n".join(blocks)

    assert without_doubles(content).text == content
    assert [flaw.paragraph for flaw in repeated_paragraphs(content)] == reported


@pytest.mark.parametrize(("genre", "kinds"), [("Mystery", ["repeated_paragraph"]), ("Children's", []), ("Poetry", [])])
async def test_a_repeated_paragraph_is_no_flaw_in_a_book_whose_verses_repeat(genre, kinds):
    material = some_material(1, words=400, genre=genre, style_notes="A refrain ends each chapter.")

    flaws = await inspect("\n\n".join([ONCE, *FRESH, ONCE]), material, material.chapters[0])

    assert [flaw.kind for flaw in flaws if flaw.kind == "repeated_paragraph"] == kinds
