"""What a model says around the prose goes, and not a line of the prose with it."""

import time

import pytest

from bookgen.writing.clean import prose
from bookgen.writing.residue import residue, without_residue
from bookgen.writing.seam import without_overlap
from tests.writing.scripted import a_chapter

CHAPTER = a_chapter(3)
STORY = "The harbour slept.\n\nNobody saw the lamp go out."


@pytest.mark.parametrize(
    "before",
    [
        "Sure! Here is the next part of the chapter:",
        "Here's chapter 3, as requested.",
        "Certainly! Continuing with part 2:",
        "Hier ist das Kapitel:",
        "Voici la suite du chapitre :",
        "以下是第三章：",
        "Here is the continuation:\n\n---",
        "# Chapter 3: The Bell",
        "**Chapter Three**",
        f"# {CHAPTER.title}",
        "<think>I begin with the harbour.</think>",
    ],
)
def test_what_a_model_says_before_the_prose_goes(before):
    assert prose(f"{before}\n\n{STORY}", CHAPTER, opening=True) == STORY


@pytest.mark.parametrize(
    "after",
    [
        "[End of part 2]",
        "*(End of Chapter Three)*",
        "---\n\n(Word count: 750)",
        "To be continued...",
        "Let me know if you would like any changes to this chapter!",
        "Would you like me to continue with the next part?",
        "I hope this chapter meets your expectations.",
        "Fortsetzung folgt …",
        "（完）",
        "(未完待续)",
        "**Part 1 of 3**",
    ],
)
def test_what_a_model_says_after_the_prose_goes(after):
    assert prose(f"{STORY}\n\n{after}", CHAPTER, opening=False) == STORY


@pytest.mark.parametrize(
    "text",
    [
        "Sure enough, the apartment was empty.\n\nShe went in.",
        "Of course the words had been hers.\n\nHe had only written them down.",
        "Here are the three rules:\n\n1. Wait.\n2. Watch.\n3. Write it down.",
        "Here is the text of his letter:\n\nI am well.",
        "Part of me is water\nand part of me is stone",
        "He was gone.\n\nI hope you can forgive me.",
        "He was gone.\n\nWould you like to know why?",
        "He was gone.\n\nShall I tell you the rest?",
        "He was gone.\n\n— Continua.",
        "Caminamos.\n\nContinuamos hasta el mar.",
        "他走了。\n\n结束了。",
        "他走了。\n\n完了，他想。",
        "彼は去った。\n\n続く沈黙の中で、彼女は待った。",
        "He turned the page.\n\nThe end of part one was near.",
        "```\nx = 1\n```\n\nThe variable now has a value.\n\n```\ny = 2\n```",
        "```python\nprint('the whole chapter')\n```",
    ],
)
def test_prose_that_only_sounds_like_it_stays(text):
    assert prose(text, CHAPTER, opening=True) == text


@pytest.mark.parametrize(
    "paragraph",
    [
        "“Here's the part I don't get,” said Anna.",
        "“Would you like me to continue?” he asked.",
        "— Let me know if you want the changes, she said.",
        "She sent the papers as requested.",
        "In this chapter, we will build a small boat.",
        "You will find exercises at the end of chapter three.",
        "Als KI hatte sie keine Hände.",
        "Print it with `f'{name}'`, or with a template:\n\n```\nDear {{character_name}}\n\n# TODO\n```",
        "## Ingredients\n\nFlour.\n\n## Method\n\nMix.\n\n## Ingredients\n\nMilk.\n\n## Method\n\nBoil.",
    ],
)
def test_what_people_say_to_each_other_and_what_a_book_says_of_itself_is_no_fault(paragraph):
    content = f"{STORY}\n\n{paragraph}\n\n{STORY}"

    assert residue(content, CHAPTER) == []
    assert without_residue(content, CHAPTER) == content


def test_a_doubtful_paragraph_is_named_and_not_thrown_away():
    content = f"{STORY}\n\nHere is the next part of her life.\n\n{STORY}"

    assert [flaw.kind for flaw in residue(content, CHAPTER)] == ["meta_text"]
    assert without_residue(content, CHAPTER) == content


@pytest.mark.parametrize(
    ("before", "piece"),
    [
        ("他看着欧阳明月。", "欧阳明月笑了。"),
        ("She ran to the old house.", "To the old house she had never been."),
    ],
)
def test_a_sentence_may_begin_as_the_last_one_ended(before, piece):
    assert without_overlap(before, piece) == piece


@pytest.mark.parametrize("endless", ["\n" * 60_000, "\n " * 30_000, " " * 60_000, "[" * 60_000, "<think>" * 9_000])
def test_a_model_that_never_stops_is_read_in_no_time(endless):
    begun = time.process_time()
    for text in (f"a{endless}b", f"# a{endless}b", f"{STORY}{endless}x"):
        without_residue(prose(text, CHAPTER, opening=True), CHAPTER)

    assert time.process_time() - begun < 2
