"""A model's remarks about its task are removed and recorded. No line of the book is removed."""

import time

import pytest

from bookgen.writing.material import ChapterDraft
from bookgen.writing.reply_cleanup import prose
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
def test_remarks_before_the_prose_are_removed(before):
    cleaned = prose(f"{before}\n\n{STORY}", CHAPTER, opening=True)

    assert cleaned.text == STORY
    removed = [change.before for change in cleaned.changes]
    assert removed == [] if "<think>" in before else all(line in before for line in removed) and removed


def test_a_full_width_space_in_front_of_a_paragraph_is_removed():
    song = "　ねむれ\n　　ねむれ\n　よい子よ"
    code = "```\n　一\n\n　二\n\n　三\n```"
    reply = f"　窓を閉めた。\n\n　女は言った。\n \n「死んで？　います」\n\n{song}\n\n{code}\n\n　　終わり。"

    cleaned = prose(reply, CHAPTER, opening=False)

    assert cleaned.text == f"窓を閉めた。\n\n女は言った。\n \n「死んで？　います」\n\n{song}\n\n{code}\n\n終わり。"
    assert cleaned.changes == ()


def test_verse_keeps_its_full_width_spaces():
    poem = "雪の朝\n\n　二の字二の字の\n\n　　下駄のあと"

    assert prose(poem, CHAPTER, opening=False, verse=True).text == poem


@pytest.mark.parametrize(
    "after",
    [
        "[End of part 2]",
        "*(End of Chapter Three)*",
        "---\n\n(Word count: 750)",
        "Let me know if you would like any changes to this chapter!",
        "Would you like me to continue with the next part?",
        "I hope this chapter meets your expectations.",
        "(未完待续)",
        "本章完。",
        "**Part 1 of 3**",
    ],
)
def test_remarks_after_the_prose_are_removed(after):
    cleaned = prose(f"{STORY}\n\n{after}", CHAPTER, opening=False)

    assert cleaned.text == STORY
    assert [(change.before, change.after, change.follows) for change in cleaned.changes] == [(after, "", STORY)]


@pytest.mark.parametrize(
    "text",
    [
        "Sure enough, the apartment was empty.\n\nShe went in.",
        "Of course the words had been hers.\n\nHe had only written them down.",
        "Of course the chapter of the brotherhood had an opinion:\n\nIt was against the bell.",
        "Here is the chapter of my life that I never tell:\n\nI was nine.",
        "Here is part 2 of the letter she sent:\n\nI am well.",
        "Certainly!\n\nHe said it to the empty room.",
        "## Part 1: Gathering\n\nYou need a jar.\n\n## Part 2: Mixing\n\nMix.",
        "He was gone.\n\nTo be continued …",
        "He was gone.\n\nFortsetzung folgt …",
        "他走了。\n\n完",
        "He was gone.\n\nShall I tell you a part of the story?",
        "He was gone.\n\nLet me know if the price changes.",
        "Fill the jar.\n\nFeel free to ask the shopkeeper.",
        "He was gone.\n\nEnd of Part Two",
        f"{CHAPTER.title}\nwas what they called it\nand nobody knew why",
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
def test_prose_that_only_resembles_a_remark_stays(text):
    cleaned = prose(text, CHAPTER, opening=True)

    assert cleaned.text == text
    assert cleaned.changes == ()


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
        "Dear Mara,\n\nThe story is nearly done.\n\nLet me know if you want any changes.\n\nYours,\n\nTobias",
        "Print it with `f'{name}'`, or with a template:\n\n```\nDear {{character_name}}\n\n# TODO\n```",
        "## Ingredients\n\nFlour.\n\n## Method\n\nMix.\n\n## Ingredients\n\nMilk.\n\n## Method\n\nBoil.",
    ],
)
def test_dialogue_and_remarks_of_the_book_about_itself_are_no_fault(paragraph):
    content = f"{STORY}\n\n{paragraph}\n\n{STORY}"

    assert residue(content, CHAPTER, "en") == []
    assert without_residue(content).text == content


def test_a_doubtful_paragraph_is_reported_and_not_deleted():
    content = f"{STORY}\n\nHere is the next part of her life.\n\n{STORY}"

    assert [flaw.kind for flaw in residue(content, CHAPTER, "en")] == ["meta_text"]
    assert without_residue(content).text == content


@pytest.mark.parametrize(
    "reply",
    [
        f"# Chapter 3: The Bell\n\n{STORY}",
        f"Sure! Here is chapter 3:\n\n# The Bell\n\n{STORY}\n\n(Word count: 12)\n\n[End of part 2]",
        f"{STORY}\n\nWould you like me to continue with the next part?",
    ],
)
def test_every_removal_can_be_undone(reply):
    cleaned = prose(reply, CHAPTER, opening=True)
    draft = ChapterDraft(cleaned.text, 0, None, changes=cleaned.changes)

    assert cleaned.text != reply
    assert draft.original == reply


@pytest.mark.parametrize(
    ("before", "piece"),
    [
        ("他看着欧阳明月。", "欧阳明月笑了。"),
        ("She ran to the old house.", "To the old house she had never been."),
    ],
)
def test_a_sentence_may_begin_with_the_words_that_ended_the_last_one(before, piece):
    assert without_overlap(before, piece) == piece


@pytest.mark.parametrize("endless", ["\n" * 60_000, "\n " * 30_000, " " * 60_000, "[" * 60_000, "<think>" * 9_000])
def test_endless_replies_are_cleaned_in_linear_time(endless):
    begun = time.process_time()
    for text in (f"a{endless}b", f"# a{endless}b", f"{STORY}{endless}x"):
        without_residue(prose(text, CHAPTER, opening=True).text)

    assert time.process_time() - begun < 2
