"""Limits on a chapter's Markdown and size.

Markdown that would take the parser hours is treated as plain text instead. A chapter too long to be laid out in time is
refused at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from bookgen.errors import InvalidInput
from bookgen.render.model import Block, Paragraph, Span, spans_of

# From each bracket that is unclosed or contains others, the parser scans to the end of the block, so its time grows
# with the square of their number. This many in one block take a tenth of a second.
MAX_BRACKETS = 2_000
MAX_CALLING_NOTES = 50
MAX_TEXTS = 30_000  # paragraphs, items, cells and lines per chapter; the longest novel has fewer paragraphs in all

_BLOCKS = re.compile(r"\n[ \t]*\n")
_ESCAPED = re.compile(r"\\.")


def has_too_many_brackets(source: str) -> bool:
    """Whether the brackets in the text would take the parser too long."""
    return sum(_brackets(block) ** 2 for block in _BLOCKS.split(source)) > MAX_BRACKETS**2


def _brackets(block: str) -> int:
    """The number of brackets that are never closed, plus the number of brackets opened inside others."""
    open_, nested = 0, 0
    for sign in re.findall(r"[\[\]]", _ESCAPED.sub("", block)):
        if sign == "[":
            nested += open_ > 0
            open_ += 1
        elif open_:
            open_ -= 1
    return nested + open_


def has_chained_notes(tokens: Sequence[Token]) -> bool:
    """Whether more than MAX_CALLING_NOTES footnotes refer to other footnotes."""
    within, calling = False, 0
    for token in tokens:
        if token.type in ("footnote_open", "footnote_close"):
            within = token.type == "footnote_open"
        elif within and any(each.type == "footnote_ref" for each in token.children or ()):
            calling += 1
    return calling > MAX_CALLING_NOTES


def plain(source: str) -> Iterator[Block]:
    """The source's paragraphs as plain text, without Markdown."""
    for paragraph in _BLOCKS.split(source):
        if text := " ".join(paragraph.split()):
            yield Paragraph((Span(text),))


def require_few_texts(number: int, blocks: Sequence[Block]) -> None:
    """Raise InvalidInput if chapter `number` has more than MAX_TEXTS paragraphs, list items, table cells and lines."""
    texts = sum(len(spans_of(block)) for block in blocks)
    if texts > MAX_TEXTS:
        counted = "paragraphs, list items, table cells and lines"
        problem = (
            f"Chapter {number} has {texts:,} {counted} in total. "
            f"An exported file may have at most {MAX_TEXTS:,} of these in a chapter. Split the chapter."
        )
        raise InvalidInput(problem, content=[problem])
