"""Applying changes what was shown and nothing else, whatever is applied and in which order."""

from __future__ import annotations

from bookgen.writing.proofreading import anchors
from bookgen.writing.proofreading.placing import applied, placed
from tests.writing.proofreading.judge import judged, suggestion

CASES = 400  # `make anchors` judges a million


def test_no_byte_changes_outside_of_what_was_shown_and_what_remains_is_found_again() -> None:
    faults, happened = judged(range(CASES))

    assert faults == {}
    assert min(happened[what] for what in ("edits", "applied", "stale", "standing")) > CASES / 4


def test_a_passage_is_found_again_behind_an_edit_before_it() -> None:
    before = "The lamp went out. Teh lamp went out again."
    moved = [suggestion(1, before, 19, 22, "The")]

    result = applied(placed(moved, f"A new beginning.\n\n{before}", 2), {1})

    assert result.content == "A new beginning.\n\nThe lamp went out. The lamp went out again."


def test_a_passage_that_is_gone_is_stale_and_changes_nothing() -> None:
    before = "The lamp went out. Teh lamp went out again."

    result = applied(placed([suggestion(1, before, 19, 22, "The")], "The lamp went out.", 2), {1})

    assert (result.content, result.stale, result.applied) == ("The lamp went out.", [1], [])


def test_a_word_that_stands_alone_is_not_found_again_in_another_text() -> None:
    assert anchors.find_again("It was Teh end of it.", 0, "Teh", "", "") is None


def test_a_passage_that_stands_twice_is_not_guessed() -> None:
    assert anchors.find("a lamp, a lamp", "lamp") is None
    assert anchors.find("a lamp, b lamp", "lamp", "b ", "") == 10


def test_a_change_that_would_break_the_markdown_is_stale() -> None:
    content = "Some *quiet* words.\n\n- one\n- two"

    result = applied(placed([suggestion(1, content, 5, 12, "**quiet")], content, 1), {1})

    assert (result.content, result.stale) == (content, [1])
