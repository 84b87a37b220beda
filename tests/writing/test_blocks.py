"""Code in fences comes out as it was written, character for character, whatever is done to the text around it."""

from __future__ import annotations

import pytest

from bookgen.providers.text import StopReason
from bookgen.writing import sentences
from bookgen.writing.blocks import fences, joined, paragraphs, spaced_paragraphs
from bookgen.writing.chapter import write_chapter
from bookgen.writing.flaw import without_code
from bookgen.writing.quality import certain
from bookgen.writing.reply_cleanup import prose as cleaned
from bookgen.writing.seam import join, without_overlap
from tests.writing.scripted import Scripted, a_book, a_chapter, obedient, says, sentence, some_material
from tests.writing.scripted import prose as some_prose

LISTING = (
    "import sys \n\n\nclass Player:\n    def __init__(self):\n        self.bag = []  \n\n\n\ndef main():\n    \n    \n"
    '    print("Let me know if you would like any changes to this chapter!")\n\n<text>\n</text>\n\n'
    "Let me know if you would like any changes to this chapter!\n\n\nmain()\t"
)
INDENTED = "\n".join(f"   {line}" if line.strip() else line for line in LISTING.split("\n"))
BLOCKS = {
    "backticks": f"```python\n{LISTING}\n```",
    "tildes": f"~~~text\n{LISTING}\n```\n~~~",
    "more backticks": f"````markdown\n```python\n{LISTING}\n```\n````",
    "in a list item": f"1. Type this:\n\n   ```python\n{INDENTED}\n   ```\n\n   Then run it.\n\n2. Read it.",
    "in the line of a list item": f"- ```python\n{INDENTED}\n  ```\n- Read it.",
    "right after a line": f"Type this:\n```\n{LISTING}\n```\nand run it.",
}
LONG = some_prose(40, 1).replace("\n\n", " ")
CHAPTER = a_chapter(1)


@pytest.fixture(params=BLOCKS.values(), ids=BLOCKS.keys())
def block(request):
    return request.param


def test_the_lines_of_a_fence_are_not_cleaned_up(block):
    before = f"Here is chapter 1, as requested:\n\n\n\n# {CHAPTER.title}\n\n{sentence(1)}"
    after = "<text>\nEnd.\n\n[End of part 2]"

    text = cleaned(f"{before}\n\n\n\n{block}\n \n\n\n{after}", CHAPTER, opening=True).text

    assert text == f"{sentence(1)}\n\n{block}\n\nEnd."


def test_a_reply_may_begin_and_end_with_code(block):
    assert cleaned(f"{block}\n\n{block}", CHAPTER, opening=True).text == f"{block}\n\n{block}"
    assert cleaned(f"\n  {block}", CHAPTER, opening=False).text.lstrip() == block


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("```text\n$ python3 a.py\n```\n\nRun it.\n\n```text\nDark.\n```", None),
        ("```markdown\n# Title\n```\n\nThis is a heading.\n\n```python\nprint()\n```", None),
        ("```markdown\nRun it.\n\n```python\nprint()\n```\n```", "Run it.\n\n```python\nprint()\n```"),
        ("```text\nRun it.\n\n```python\nprint()\n```\n\nDone.\n```", "Run it.\n\n```python\nprint()\n```\n\nDone."),
    ],
)
def test_a_fence_around_the_whole_reply_is_told_from_code_at_its_edges(reply, text):
    assert cleaned(reply, CHAPTER, opening=False).text == (text or reply)


async def test_what_is_removed_between_listings_leaves_them_as_they_are(block):
    remark = "Let me know if you would like any changes to this chapter!"
    content = "\n\n".join([sentence(1), LONG, block, *map(sentence, range(2, 9)), remark, LONG, block, sentence(9)])

    text = (await certain(content, a_book())).text

    assert text == "\n\n".join([sentence(1), LONG, block, *map(sentence, range(2, 9)), block, sentence(9)])


def test_a_fence_is_never_divided_into_paragraphs(block):
    content = f"One.\n\n\n{block}\n\n   Two."

    assert joined(spaced_paragraphs(content)) == content
    assert all(each.is_closed for paragraph in paragraphs(content) for each in fences(paragraph))
    assert len(paragraphs(without_code(content))) == len(paragraphs(content))
    assert len(without_code(content)) == len(content)
    assert "Player" not in without_code(content)


def test_code_has_no_sentences(block):
    content = f"The first one.\n\n{block}\n\n[^1]: A note."

    said = sentences.split(content)

    assert sentences.first(content) == "The first one."
    assert not any(word in " ".join(said) for word in ("Let me know", "import", "```", "main"))
    assert sentences.without_notes(content) == f"The first one.\n\n{block}"


def test_lines_of_tildes_are_scene_breaks():
    assert not fences("One.\n\n~~~\n\nTwo.\n\n~~~\n\nThree.")


def test_a_text_that_is_cut_inside_a_fence_ends_before_it(block):
    whole = f"{sentence(1)}\n\n{block}"
    inside = whole[: whole.index("main()")]

    assert sentences.complete(inside) == whole[: fences(whole)[0].start].rstrip()
    assert sentences.complete(f"{whole}\n\nIt is dark. And then the") == f"{whole}\n\nIt is dark."


def test_a_part_that_begins_with_a_fence_is_a_paragraph_of_its_own(block):
    indented = f"   {block}"

    space = " " if block.startswith("Type") else "\n\n"
    assert join("Type this:", block, same_paragraph=True) == f"Type this:{space}{block}"
    assert join("1. Type this:", indented, same_paragraph=False) == f"1. Type this:\n\n{indented}"


def test_an_overlap_ends_at_the_end_of_a_fence():
    listing = '```python\nprint("The lamp is dark and cold.")\nprint("You are at the door.")\n```'
    text = f"{sentence(1)}\n\n{listing}"

    assert without_overlap(text, f"{listing}\n\n   ```text\n   Dark.\n   ```") == "   ```text\n   Dark.\n   ```"


async def test_a_chapter_is_stored_with_its_code_as_the_model_wrote_it(block):
    def writes(request, brief, call):
        if request.stage != "chapter":
            return obedient(request, brief, call)
        first = "part" in brief and brief["part"] == 1 and brief["task"] == "write"
        text = f"{some_prose(300, call * 100 + 1)}\n\n{block}\n\n{some_prose(300, call * 100 + 51)}"
        return says(f"{text}\n\n```python\nx = 1\n\n\ny = 2", StopReason.LENGTH) if first else text

    draft = await write_chapter(some_material(2, words=1_500), 1, Scripted(writes))

    assert draft.content.count(block) > 1
    assert "y = 2" not in draft.content
