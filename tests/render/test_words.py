"""Words keep the requested style."""

import pytest

from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.line_breaking import places
from bookgen.render.layout.lines import Align, LineBreaker, Shape
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
