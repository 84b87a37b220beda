"""Which parts of a Markdown text are prose, and whether a change keeps its structure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Each change of a paragraph parses it again, which takes five seconds for a million characters of markup. So these
# limit the length of a paragraph that may be changed, and the characters parsed for the changes of one text.
MAX_PARAGRAPH_CHARACTERS, MAX_READ_CHARACTERS = 100_000, 2_000_000
_BLOCK = re.compile(r"(?:[^\n]|\n(?![ \t]*\n))+")
# Code, URLs, HTML, footnote marks, escapes, scene breaks, and markup at the start of a line. Most elements have a limit
# of length: without it, each of a hundred thousand unclosed ones would be searched for its end in the whole text.
_MARKUP = (
    r"```.*?(?:```|\Z)|`[^`\n]+`|\]\([^)\n]{0,500}\)|\]\[[^\]\n]{0,500}\]|<[^<>\n]+>|\[\^[^\]\n]{1,200}\]:?"
    r"|https?://\S+|www\.\S+|[^\s@]{1,64}@[^\s@]{1,255}\.\w+"
    r"|\\.|^[ \t]*(?:[*_-][ \t]*){3,}$|^[ \t]*(?:#{1,6}|[-*+>]|\d+[.)])[ \t]"
)
_FIXED = re.compile(_MARKUP, re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(_MARKUP + r"|^[ \t]*\|[^\n]*$", re.DOTALL | re.MULTILINE)  # nor the rows of a table
_CELL_EDGE = re.compile(r"(?<!\\)\|")


def blocks(content: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, headings and lists of a text, each with its offset."""
    for match in _BLOCK.finditer(content):
        if match[0].strip():
            yield match.start(), match[0]


def prose(text: str) -> str:
    """`text` with U+0000 in place of each character that is not prose, so that offsets stay the same."""
    return _NO_PROSE.sub(lambda match: "\0" * len(match[0]), text)


def paragraph(content: str, start: int, end: int) -> tuple[int, int]:
    """The start and the end of the paragraph that contains `content[start:end]`."""
    last = content.find("\n\n", end)
    return content.rfind("\n\n", 0, start) + 1, len(content) if last < 0 else last


class ReadingBudget:
    """A limit on how many characters of a text are parsed to check its changes."""

    def __init__(self) -> None:
        self._left = MAX_READ_CHARACTERS

    def pays_for(self, content: str, start: int, end: int) -> bool:
        """Subtract the cost of checking a change of `content[start:end]`. Returns False if too little is left.

        A paragraph of more than MAX_PARAGRAPH_CHARACTERS is never parsed, so it costs nothing.
        """
        first, last = paragraph(content, start, end)
        cost = last - first if last - first <= MAX_PARAGRAPH_CHARACTERS else 0
        if cost > self._left:
            return False
        self._left -= cost
        return True


def keeps_structure(content: str, start: int, end: int, replacement: str) -> bool:
    """Whether replacing `content[start:end]` by `replacement` keeps the Markdown, the line breaks and the table cells.

    Always False in a paragraph of more than MAX_PARAGRAPH_CHARACTERS.
    """
    first, last = paragraph(content, start, end)
    lines = content[start:end].split("\n"), replacement.split("\n")
    if len(lines[0]) != len(lines[1]) or last - first > MAX_PARAGRAPH_CHARACTERS:
        return False
    if len(lines[0]) > 1 and not all(line.strip() for line in (*lines[0], *lines[1])):
        return False  # an empty line ends the paragraph
    if any(_cell_edges(old) != _cell_edges(new) for old, new in zip(*lines, strict=True)):
        return False  # the parser ignores the cells that a row has too many
    before, after = content[first:last], content[first:start] + replacement + content[end:last]
    if any(mark.start() < end - first and start - first < mark.end() for mark in _FIXED.finditer(before)):
        return False
    return not before.strip() or (bool(after.strip()) and _shape(before) == _shape(after))


def _cell_edges(line: str) -> int:
    """The number of marks in the line that may separate the cells of a table."""
    return len(_CELL_EDGE.findall(line))


@lru_cache(maxsize=16)  # changes of one paragraph are usually checked in a row
def _shape(block: str) -> bytes:
    """A digest of the block's structure, which takes far less memory than the parsed tokens."""
    marks = hashlib.sha256()
    for each in _shapes(_markdown().parse(block)):
        marks.update(repr(each).encode("utf-8", "surrogatepass"))
    return marks.digest()


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # loaded late: `app.serve` imports it after the start

    return MarkdownIt("commonmark").enable("table").disable("code")


def _shapes(tokens: list[Token]) -> Iterator[object]:
    for token in tokens:
        if token.type != "text":
            yield token.type, token.tag, token.markup, token.info, tuple(token.attrs.items())
        if token.children:
            yield from _shapes(token.children)
