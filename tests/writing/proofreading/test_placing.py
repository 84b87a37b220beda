"""Applying changes what was shown and nothing else, whatever is applied and in which order."""

import os
import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bookgen.models import Severity, Suggestion, SuggestionStatus, SuggestionType
from bookgen.writing.proofreading import anchors
from bookgen.writing.proofreading.correction import CONTEXT
from bookgen.writing.proofreading.placing import applied, placed
from bookgen.writing.proofreading.structure import keeps_structure

CASES = int(os.environ.get("CASES", "60"))  # of each kind
WORDS = ["lamp", "wasser", "свет", "光が", "نور", "ночь", "é́", "😀👩‍👩‍👧", "a", "the", "—", "“so”"]


def suggestion(number: int, content: str, start: int, end: int, text: str, version: int = 1) -> Suggestion:
    return Suggestion(
        id=number,
        report_id=1,
        chapter_id=1,
        chapter_number=1,
        type=SuggestionType.SPELLING,
        severity=Severity.MINOR,
        original_text=content[start:end],
        suggested_text=text,
        explanation="",
        start_offset=start,
        end_offset=end,
        prefix=content[max(0, start - CONTEXT) : start],
        suffix=content[end : end + CONTEXT],
        content_version=version,
        fingerprint=str(number),
        status=SuggestionStatus.PENDING,
        source="rule",
    )


@st.composite
def chapters(draw: st.DrawFn) -> tuple[str, list[Suggestion]]:
    """A text of several scripts and suggestions for some of its words, which do not overlap."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    words = [rng.choice(WORDS) for _ in range(draw(st.integers(1, 60)))]
    content, spans = "", []
    for number, word in enumerate(words):
        content += rng.choice([" ", " ", " ", "\n\n"]) if number else ""
        spans.append((len(content), len(content) + len(word)))
        content += word
    chosen = [span for span in spans if rng.random() < 0.4]
    return content, [
        suggestion(number, content, start, end, "".join(rng.sample(WORDS, rng.randint(1, 2))))
        for number, (start, end) in enumerate(chosen, 1)
    ]


@settings(max_examples=CASES, deadline=None)
@given(chapters(), st.randoms(use_true_random=False))
def test_only_the_spans_that_were_shown_change(chapter: tuple[str, list[Suggestion]], rng: random.Random) -> None:
    content, suggestions = chapter
    chosen = {each.id for each in suggestions if rng.random() < 0.5}

    result = applied(placed(suggestions, content, 1), chosen)

    done = sorted((each for each in suggestions if each.id in result.applied), key=lambda each: each.start_offset)
    expected, place = "", 0
    for each in done:
        expected += content[place : each.start_offset] + each.suggested_text
        place = each.end_offset
    assert result.content == expected + content[place:]
    assert set(result.applied) <= chosen
    assert all(result.content[s.start_offset : s.end_offset] == s.original_text for s in result.standing)


@settings(max_examples=CASES, deadline=None)
@given(chapters(), st.randoms(use_true_random=False))
def test_one_after_the_other_in_any_order_is_the_same_as_all_at_once(
    chapter: tuple[str, list[Suggestion]], rng: random.Random
) -> None:
    content, suggestions = chapter
    # What can be applied alone may not be possible beside another: only those that change plain words are compared.
    plain = [s for s in suggestions if s.suggested_text.isalpha() and keeps_structure(content, *_span(s))]
    at_once = applied(placed(plain, content, 1), {each.id for each in plain})

    one_by_one, order = placed(plain, content, 1), [each.id for each in plain]
    rng.shuffle(order)
    for number in order:
        one_by_one = applied(one_by_one, {number})

    assert one_by_one.content == at_once.content


def _span(each: Suggestion) -> tuple[int, int, str]:
    return each.start_offset, each.end_offset, each.suggested_text


@settings(max_examples=CASES, deadline=None)
@given(chapters())
def test_the_inverse_restores_every_byte(chapter: tuple[str, list[Suggestion]]) -> None:
    content, suggestions = chapter
    result = applied(placed(suggestions, content, 1), {each.id for each in suggestions})

    shift, inverse = 0, []
    for each in sorted(suggestions, key=lambda suggestion: suggestion.start_offset):
        if each.id in result.applied:
            start = each.start_offset + shift
            end = start + len(each.suggested_text)
            inverse.append((start, end, each.original_text))
            shift += len(each.suggested_text) - len(each.original_text)
    restored = result.content
    for start, end, text in reversed(inverse):
        restored = restored[:start] + text + restored[end:]

    assert restored == content


def test_a_passage_is_found_again_behind_an_edit_before_it() -> None:
    before = "The lamp went out. Teh lamp went out again."
    moved = [replace(suggestion(1, before, 19, 22, "The"))]

    result = applied(placed(moved, f"A new beginning.\n\n{before}", 2), {1})

    assert result.content == "A new beginning.\n\nThe lamp went out. The lamp went out again."


def test_a_passage_that_is_gone_is_stale_and_changes_nothing() -> None:
    before = "The lamp went out. Teh lamp went out again."

    result = applied(placed([suggestion(1, before, 19, 22, "The")], "The lamp went out.", 2), {1})

    assert (result.content, result.stale, result.applied) == ("The lamp went out.", [1], [])


def test_a_passage_that_stands_twice_is_not_guessed() -> None:
    assert anchors.find("a lamp, a lamp", "lamp") is None
    assert anchors.find("a lamp, b lamp", "lamp", "b ", "") == 10


def test_a_change_that_would_break_the_markdown_is_stale() -> None:
    content = "Some *quiet* words.\n\n- one\n- two"

    result = applied(placed([suggestion(1, content, 5, 12, "**quiet")], content, 1), {1})

    assert (result.content, result.stale) == (content, [1])
