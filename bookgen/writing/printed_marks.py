"""Find asterisks that would be printed, because they neither open nor close emphasis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from bookgen.writing.blocks import paragraphs
from bookgen.writing.flaw import Flaw, without_code

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_BESIDE_A_WORD = re.compile(r"(?<=\w)\*+|\*+(?=\w)")
_MEANT = re.compile(r"\w\*+\w|\d\*|\*\d")  # intended: f**k, and asterisks that mark notes
MAX_MARKS, MAX_LETTERS = 500, 10_000  # in a paragraph: the parser needs too long for more
_AROUND = 40  # letters of the text on each side that a finding quotes


def printed_marks(content: str) -> list[Flaw]:
    """A finding for each paragraph in which an asterisk beside a word would be printed."""
    return [
        Flaw("printed_mark", index, excerpt, f'An asterisk will be printed: "{excerpt}".')
        for index, paragraph in enumerate(paragraphs(without_code(content)))
        if 0 < paragraph.count("*") <= MAX_MARKS and len(paragraph) <= MAX_LETTERS
        if (excerpt := next(_printed(paragraph), ""))
    ]


def _printed(paragraph: str) -> Iterator[str]:
    """The text around each asterisk beside a word that would be printed."""
    for token in _markdown().parseInline(paragraph)[0].children or []:
        # An escaped asterisk is intended; the parser gives it another token type.
        if token.type != "text" or "*" not in token.content:
            continue
        text = token.content
        for found in _BESIDE_A_WORD.finditer(_MEANT.sub(lambda meant: "·" * len(meant[0]), text)):
            yield text[max(0, found.start() - _AROUND) : found.end() + _AROUND].strip()


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # loaded late: `app.serve` imports it after the start

    return MarkdownIt("commonmark").disable("text_join")
