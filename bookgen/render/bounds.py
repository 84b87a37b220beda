"""Bounds on Markdown: what would keep its reader busy for hours is set as plain text instead.

And on a chapter: one that would be laid out for a minute, only to be given up, is refused at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from bookgen.errors import InvalidInput
from bookgen.render.model import Block, Paragraph, Span, spans_of

# The parser looks from every bracket that is not closed, or closed around others, to the end of its block. So many in
# one block take it a tenth of a second.
MAX_BRACKETS = 2_000
MAX_CALLING_NOTES = 50
MAX_TEXTS = 30_000  # of a chapter; the longest novel has fewer paragraphs

_BLOCKS = re.compile(r"\n[ \t]*\n")
_ESCAPED = re.compile(r"\\.")


def explodes(source: str) -> bool:
    """Whether the brackets of the text take the parser longer than a book may."""
    return sum(_brackets(block) ** 2 for block in _BLOCKS.split(source)) > MAX_BRACKETS**2


def _brackets(block: str) -> int:
    """How many stay open, or stand around others."""
    open_, nested = 0, 0
    for sign in re.findall(r"[\[\]]", _ESCAPED.sub("", block)):
        if sign == "[":
            nested += open_ > 0
            open_ += 1
        elif open_:
            open_ -= 1
    return nested + open_


def chains(tokens: Sequence[Token]) -> bool:
    """Whether more notes call other notes than could stand below each other."""
    within, calling = False, 0
    for token in tokens:
        if token.type in ("footnote_open", "footnote_close"):
            within = token.type == "footnote_open"
        elif within and any(each.type == "footnote_ref" for each in token.children or ()):
            calling += 1
    return calling > MAX_CALLING_NOTES


def plain(source: str) -> Iterator[Block]:
    """The paragraphs as they were typed."""
    for paragraph in _BLOCKS.split(source):
        if text := " ".join(paragraph.split()):
            yield Paragraph((Span(text),))


def require_few_texts(number: int, blocks: Sequence[Block]) -> None:
    """InvalidInput where the chapter has more than MAX_TEXTS."""
    texts = sum(len(spans_of(block)) for block in blocks)
    if texts > MAX_TEXTS:
        held = f"Chapter {number} has {texts:,} paragraphs, list items, table cells and lines"
        problem = f"{held}; a file allows {MAX_TEXTS:,} per chapter. Split the chapter."
        raise InvalidInput(problem, content=[problem])
