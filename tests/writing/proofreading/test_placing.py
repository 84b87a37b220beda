"""Applying suggestions changes what was shown and nothing else, in any order."""

from __future__ import annotations

from typing import Any

from bookgen.writing.proofreading import anchors
from bookgen.writing.proofreading.placing import applied, placed
from bookgen.writing.proofreading.structure import MAX_PARAGRAPH_CHARACTERS, MAX_READ_CHARACTERS
from tests.writing.proofreading.judge import judged, suggestion

CASES = 400  # `make anchors` judges a million


def test_only_the_shown_text_changes_and_the_remaining_edits_are_found_again() -> None:
    faults, happened = judged(range(CASES))

    assert faults == {}
    assert min(happened[what] for what in ("edits", "applied", "stale", "pending")) > CASES / 4


def test_a_passage_is_found_again_after_an_edit_before_it() -> None:
    before = "The lamp went out. Teh lamp went out again."
    moved = [suggestion(1, before, 19, 22, "The")]

    result = applied(placed(moved, f"A new beginning.\n\n{before}", 2), {1})

    assert result.content == "A new beginning.\n\nThe lamp went out. The lamp went out again."


def test_a_missing_passage_is_stale_and_changes_nothing() -> None:
    before = "The lamp went out. Teh lamp went out again."

    result = applied(placed([suggestion(1, before, 19, 22, "The")], "The lamp went out.", 2), {1})

    assert (result.content, result.stale, result.applied) == ("The lamp went out.", [1], [])


def test_a_word_without_context_is_not_searched_in_a_changed_text() -> None:
    assert anchors.find_again("It was Teh end of it.", 0, "Teh", "", "") is None


def test_a_passage_that_occurs_twice_is_not_guessed() -> None:
    assert anchors.find("a lamp, a lamp", "lamp") is None
    assert anchors.find("a lamp, b lamp", "lamp", "b ", "") == 10


def test_a_change_that_would_break_the_markdown_is_stale() -> None:
    content = "Some *quiet* words.\n\n- one\n- two"

    result = applied(placed([suggestion(1, content, 5, 12, "**quiet")], content, 1), {1})

    assert (result.content, result.stale) == (content, [1])


def test_a_very_long_paragraph_is_not_changed() -> None:
    content = f"Teh end.\n\n{'*a* ' * (MAX_PARAGRAPH_CHARACTERS // 4)}Teh end."
    both = [suggestion(1, content, 0, 3, "The"), suggestion(2, content, len(content) - 8, len(content) - 5, "The")]

    result = applied(placed(both, content, 1), {1, 2})

    assert (result.applied, result.stale) == ([1], [2])
    assert result.content == f"The{content[3:]}"


def test_edits_beyond_the_work_limit_are_left_for_the_next_request() -> None:
    often = MAX_READ_CHARACTERS // MAX_PARAGRAPH_CHARACTERS + 1
    content = "Teh lamp. " * (MAX_PARAGRAPH_CHARACTERS // 10)
    many = [suggestion(number, content, number * 10, number * 10 + 3, "The") for number in range(often)]

    once = applied(placed(many, content, 1), set(range(often)))
    twice = applied(once, set(range(often)))

    assert (len(once.applied), [each.id for each in once.pending], once.stale) == (often - 1, [0], [])
    assert (len(twice.applied), twice.pending, twice.stale) == (often, [], [])


def test_the_search_for_a_frequent_passage_stops_early() -> None:
    class Text(str):
        searches = 0

        def find(self, *arguments: Any) -> int:
            self.searches += 1
            return str.find(self, *arguments)

    text = Text("of " * 1000)

    assert anchors.find(text, "of of of of of", "of ", " of") is None
    assert text.searches == 4
