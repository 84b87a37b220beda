"""The rules for prose leave the code of a programming book alone, and quote none of it in a prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookgen.writing.quality import inspect
from bookgen.writing.repetition import profile, repeated, repeated_paragraphs, same_edges, to_avoid
from tests.writing.scripted import prose, sentence, some_material

LISTING = """\
```python
# The beach
def look(room):
    print("The lamp is dark and the door is open now.")

    # The beach
    print("TODO: [insert name] It was a testament to the the human spirit and a shiver ran down the spine of all.")

print("Der Leuchtturm ist dunkel, und das Schiff ist noch draußen auf dem Meer, und keiner von uns weiß es bisher.")
```"""
IN_A_LIST = "1. Type this:\n\n" + "\n".join(f"   {line}" if line else "" for line in LISTING.split("\n"))


@pytest.mark.parametrize("code", [LISTING, IN_A_LIST, LISTING.replace("```", "~~~")])
def test_lines_of_code_that_come_back_are_no_repetition(code):
    one = f"{sentence(1)}\n\n{sentence(2)}\n\n{code}\n\n{sentence(3)}\n\n{code}\n\n{sentence(4)}\n\n{code}"
    two = f"{code}\n\n{sentence(11)}\n\n{code}\n\n{sentence(12)}\n\n{code}"

    assert repeated(two, [one]) == []
    assert repeated_paragraphs(one) == []
    assert same_edges(two, [one]) == []


@pytest.mark.parametrize("code", [LISTING, LISTING.replace("```", "~~~")])
def test_a_chapter_begins_and_ends_with_its_prose(code):
    earlier = [f"{code}\n\n{sentence(each)}\n\n{code}\n\n{sentence(each + 1)}\n\n{code}" for each in (1, 11, 21)]

    assert to_avoid(earlier) == [sentence(each) for each in (1, 11, 21, 2, 12, 22)]
    assert profile(earlier[0]).opening == profile(sentence(1)).opening
    assert profile(earlier[0]).ending == profile(sentence(2)).ending


@pytest.mark.parametrize("code", [LISTING, IN_A_LIST, LISTING.replace("```", "~~~"), f"Type:\n{LISTING}"])
async def test_no_rule_finds_a_flaw_in_code(code):
    material = some_material(2, words=520, genre="Programming textbook")
    chapter = replace(material.chapters[0], title="The beach")
    text = f"{prose(200, 1)}\n\n{code}\n\n{prose(180, 101)}\n\n{code}\n\n{sentence(201)}"

    assert await inspect(text, material, chapter) == []
