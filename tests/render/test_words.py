"""Words keep the requested style."""

from typing import Any

import pytest

from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.line_breaking import ANYTHING, Measures, fit, in_last_word, places
from bookgen.render.layout.lines import Align, LineBreaker, Shape, Tail
from bookgen.render.layout.words import LONG, WordMaker, units
from bookgen.render.model import Span
from tests.render.conftest import Make, render


def test_a_word_already_set_in_the_text_gets_the_title_style_in_a_title() -> None:
    maker = WordMaker(Typeface("serif", "en"))
    maker.words([Span("the promise kept in the morning")])

    title = maker.words([Span("in the morning")], display=True)

    assert {style for token in title.tokens for _, style in token.pieces} == {maker.typeface.style(display=True)}


def test_a_title_of_two_lines_is_balanced() -> None:
    maker = WordMaker(Typeface("serif", "en"))
    words = maker.words([Span("The Lighthouse at the End of Winter")], display=True)
    shape = Shape(330.0, 28.0, align=Align.CENTER)

    assert [line.text for line in LineBreaker(Hyphens("en")).lines(words, shape)] == [
        "The Lighthouse at",
        "the End of Winter",
    ]


PARAGRAPH = "They had formed, as early as the second week of that summer, a poor opinion of our originality."


@pytest.mark.parametrize(
    "kind",
    [{"align": Align.JUSTIFY}, {"align": Align.JUSTIFY, "notch": 20.0, "notch_lines": 3}, {"align": Align.START}],
    ids=["justified", "beside an initial", "ragged"],
)
def test_the_last_word_of_a_paragraph_is_not_divided(kind: dict[str, Any]) -> None:
    maker, breaker = WordMaker(Typeface("serif", "en")), LineBreaker(Hyphens("en"))
    words = maker.words([Span(PARAGRAPH)])
    found = [breaker.lines(words, Shape(float(width), 10.0, **kind)) for width in range(170, 300)]

    assert not any(lines[-2].tail is Tail.HYPHEN and len(lines[-1].words) == 1 for lines in found)
    assert any(line.tail is Tail.HYPHEN for lines in found for line in lines)


def test_the_last_word_is_divided_if_no_line_has_room_for_it() -> None:
    words = WordMaker(Typeface("serif", "en")).words([Span("A poor originality.")])

    assert LineBreaker(Hyphens("en")).lines(words, Shape(35.0, 10.0))[-2].tail is Tail.HYPHEN


class LookedUp(set[tuple[int, int]]):
    """Places of which each question is counted."""

    def __init__(self, places: set[tuple[int, int]]) -> None:
        super().__init__(places)
        self.words: set[int] = set()

    def __contains__(self, place: object) -> bool:
        assert isinstance(place, tuple)
        self.words.add(place[0])
        return super().__contains__(place)


def test_only_the_words_that_must_not_be_divided_are_looked_up() -> None:
    words = WordMaker(Typeface("serif", "en")).words([Span(PARAGRAPH)])
    hyphens = Hyphens("en")
    asked = LookedUp(in_last_word(words, hyphens))

    assert fit(words, Measures(20_000.0), ANYTHING, hyphens, forbidden=asked)
    assert asked.words == {len(words.tokens) - 1}


def test_a_long_word_after_an_ideograph_can_be_broken_like_any_other() -> None:
    pieces = [text for text, _ in units(f"語。{'x' * 50}")]

    assert max(map(len, pieces)) < LONG
    assert "".join(pieces) == f"語。{'x' * 50}"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("me—and", ["me—", "and"]),
        ("me—”", ["me—”"]),
        ("ich–“,", ["ich–“,"]),
        ("moi—»", ["moi—»"]),
        ("me—’”", ["me—’”"]),
        ("(me—)", ["(me—)"]),
        ("me—!”—she", ["me—!”—", "she"]),
        ("me—“she", ["me—", "“she"]),
        ("“—and", ["“—and"]),
        ("me (—and", ["me", "(—and"]),
        ("well-known", ["well-", "known"]),
        ("the-boat-was-gone-and-nobody-knew—”", ["the-", "boat-", "was-", "gone-", "and-", "nobody-", "knew—”"]),
    ],
)
def test_a_line_ends_after_a_dash_only_between_letters(word: str, parts: list[str]) -> None:
    words = WordMaker(Typeface("serif", "en")).words([Span(word)])
    found, starts = [], {0: 0}
    for place in places(words, None):
        token = words.tokens[place.word]
        start, end = starts.pop(place.word, 0), abs(place.at) or len(token.text)
        found.append(token.text[start:end])
        starts[place.word] = end

    assert found == parts


def test_chapter_numbers_are_not_letterspaced_in_scripts_without_capitals(make: Make) -> None:
    for language, label in (("ar", "الفصل 1"), ("ja", "第1章")):
        layout = render(make(("Ein", "A line."), ("Zwei", "A line."), language=language)).layout
        marks = [placed.mark for page in layout.pages if page.chapter == 1 for placed in page.placed]
        (number,) = [mark for mark in marks if label.split()[0] in mark.line.text or label in mark.line.text]  # type: ignore[union-attr]

        assert all(not style.tracking for style, _ in number.line.segments)  # type: ignore[union-attr]
