"""Extreme books on every page size: all text is on a page and none overlaps."""

from __future__ import annotations

import pytest

from bookgen.render.layout.compose import Composer
from bookgen.render.layout.page import Layout, Page
from bookgen.render.layout.rows import TextMark
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import SAFE, TRIMS
from tests.render.conftest import Make
from tests.render.measuring import boxes, overlaps

SENTENCE = "The harbour was quiet and nobody who lived there could remember it otherwise; a misunderstanding. "
TITLE = ("An uncommonly long title that goes on and on without end, " * 4)[:200]
LONG_WORD = "Incomprehensibilities Donaudampfschifffahrtsgesellscha"
ODD = "\n\n".join(
    [
        SENTENCE * 6,
        f"- a\n- {SENTENCE}\n  - b {SENTENCE}\n    1. c {SENTENCE}\n       - d {SENTENCE}\n         - e {SENTENCE}",
        f"20240115. {SENTENCE}\n20240116. a\n           123456789. {SENTENCE}\n           123456790. b",
        f"> {SENTENCE}\n>\n> > {SENTENCE}\n> > > {SENTENCE}",
        f"| Name | About | Price |\n|---|---|--:|\n| Incomprehensibilities | {SENTENCE} | 1,000.00 |",
        f"|{' cell |' * 12}\n|{'---|' * 12}\n|{' Donaudampfschiff |' * 12}",
        f"```\ndef f(x):\n    return {'x' * 120}\n```",
        f"A note[^1] and another[^2]. {SENTENCE * 3}",
        f"{LONG_WORD} and https://example.org/{'abc' * 9} {SENTENCE}",
        f"## {TITLE}",
        SENTENCE * 9,
        f"[^1]: {SENTENCE}\n[^2]: {SENTENCE * 5}",
    ]
)
FRONT = {
    "dedication": f"To you\n\n{SENTENCE * 6}",
    "copyright_text": "\n".join([SENTENCE * 4] * 8),
    "publisher": "House and Sons " * 7,
}


@pytest.mark.parametrize("trim", TRIMS)
@pytest.mark.parametrize(("size", "spacing"), [(None, 1.1), (8.0, 1.0), (18.0, 1.0), (18.0, 2.0)])
def test_extreme_titles_and_words_fit_at_every_size(trim: str, size: float | None, spacing: float, make: Make) -> None:
    settings = ExportSettings(font_size=size, line_spacing=spacing, **FRONT)
    book = make((TITLE, ODD), (LONG_WORD, SENTENCE), trim=trim, title=TITLE, subtitle=TITLE)
    layout = Composer(book, settings).layout()

    assert outside(layout) == []
    assert [pair for page in layout.pages for pair in overlaps(page)] == []
    assert squeezed(layout) == []
    said = "".join(text for page in layout.pages if page.kind == "copyright" for *_, text in boxes(page))
    assert said.count("otherwise;") == 4 * 8


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.parametrize("settings", [ExportSettings(), ExportSettings(profile="print", font_size=18.0, justify=False)])
def test_measuring_and_setting_give_the_same_pages(settings: ExportSettings, language: str, make: Make) -> None:
    book = make((TITLE, ODD), ("Two", f"{SENTENCE * 90}\n\nשלום (1984) עולם, *yes*."), language=language)

    assert Composer(book, settings, measuring=True).pagination() == Composer(book, settings).layout().pagination


def outside(layout: Layout) -> list[str]:
    hang = 0.7  # share of the type size: punctuation may hang this far outside the margin
    return [
        mark.line.text
        for page in layout.pages
        for (left, right, foot, head, _), mark in zip(boxes(page), texts(page), strict=True)
        if left < SAFE - 0.1
        or right > layout.width - SAFE + hang * mark.size
        or foot + 0.15 * mark.size < SAFE - 0.1
        or head > layout.height - SAFE + 0.1
    ]


def squeezed(layout: Layout) -> list[str]:
    return [mark.line.text for page in layout.pages for mark in texts(page) if mark.line.expansion < 90]


def texts(page: Page) -> list[TextMark]:
    return [placed.mark for placed in page.placed if isinstance(placed.mark, TextMark)]
