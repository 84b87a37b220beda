"""Which parts of a Markdown text are prose, and whether a change keeps its structure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING

from bookgen.writing.blocks import fences

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Each change of a paragraph parses it again, which takes five seconds for a million characters of markup. So these
# limit the length of a paragraph that may be changed, and the characters parsed for the changes of one text.
MAX_PARAGRAPH_CHARACTERS, MAX_READ_CHARACTERS = 100_000, 2_000_000
CHARACTERS_SEARCHED = 100  # for fenced code take as long as parsing one
_BLOCK = re.compile(r"(?:[^\n]|\n(?![ \t]*\n))+")
# Code, URLs, HTML, footnote marks, escapes, scene breaks, and markup at the start of a line. Most elements have a limit
# of length: without it, each of a hundred thousand unclosed ones would be searched for its end in the whole text.
_MARKUP = (
    r"```.*?```|`[^`\n]+`|\]\([^)\n]{0,500}\)|\]\[[^\]\n]{0,500}\]|<[^<>\n]+>|\[\^[^\]\n]{1,200}\]:?"
    r"|https?://\S+|www\.\S+|[^\s@]{1,64}@[^\s@]{1,255}\.\w+"
    r"|\\.|^[ \t]*(?:[*_-][ \t]*){3,}$|^[ \t]*(?:#{1,6}|[-*+>]|\d+[.)])[ \t]"
)
_FIXED = re.compile(_MARKUP, re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(_MARKUP + r"|^[ \t]*\|[^\n]*$", re.DOTALL | re.MULTILINE)  # nor the rows of a table
_TABLE = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*\|", re.MULTILINE)
_CELL_EDGE = re.compile(r"(?<!\\)\|")


def blocks(content: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, headings and lists of a text, each with its offset."""
    for match in _BLOCK.finditer(content):
        if match[0].strip():
            yield match.start(), match[0]


def prose(text: str) -> str:
    """`text` with U+0000 in place of each character that is not prose, so that offsets stay the same."""
    spans = [(fence.start, fence.end) for fence in fences(text)]
    pieces, end = [], 0
    for start, stop in (*spans, (len(text), len(text))):
        pieces += [_NO_PROSE.sub(lambda match: "\0" * len(match[0]), text[end:start]), "\0" * (stop - start)]
        end = stop
    return "".join(pieces)


def paragraph(content: str, start: int, end: int) -> tuple[int, int]:
    """The start and the end of the paragraph that contains `content[start:end]`, without fenced code next to it."""
    first, last = content.rfind("\n\n", 0, start) + 1, content.find("\n\n", end)
    last = len(content) if last < 0 else last
    for fence in fences(content):
        if fence.end <= start:
            first = max(first, fence.end)
        elif fence.start >= end:
            last = min(last, fence.start)
    return first, last


class ReadingBudget:
    """A limit on how many characters of a text are parsed to check its changes."""

    def __init__(self) -> None:
        self._left = MAX_READ_CHARACTERS

    def pays_for(self, content: str, start: int, end: int) -> bool:
        """Subtract the cost of checking a change of `content[start:end]`. Returns False if too little is left.

        A paragraph of more than MAX_PARAGRAPH_CHARACTERS is never parsed, so it costs nothing. In a text with fenced
        code, each check searches the whole text for it.
        """
        first, last = paragraph(content, start, end)
        cost = last - first if last - first <= MAX_PARAGRAPH_CHARACTERS else 0
        cost += len(content) // CHARACTERS_SEARCHED if fences(content) else 0
        if cost > self._left:
            return False
        self._left -= cost
        return True


def keeps_structure(content: str, start: int, end: int, replacement: str, *, inline_code: bool = False) -> bool:
    """Whether replacing `content[start:end]` by `replacement` keeps the Markdown, the line breaks and the table cells.

    `inline_code`: the replacement may change code between backticks too, but never fenced code.
    Always False in a paragraph of more than MAX_PARAGRAPH_CHARACTERS.
    """
    first, last = paragraph(content, start, end)
    lines = content[start:end].split("\n"), replacement.split("\n")
    if len(lines[0]) != len(lines[1]) or last - first > MAX_PARAGRAPH_CHARACTERS:
        return False
    if len(lines[0]) > 1 and not all(line.strip() for line in (*lines[0], *lines[1])):
        return False  # an empty line ends the paragraph
    if any(fence.start < end and start < fence.end for fence in fences(content)):
        return False
    before, after = content[first:last], content[first:start] + replacement + content[end:last]
    has_cells = not inline_code or _TABLE.search(before)
    if has_cells and any(_cell_edges(old) != _cell_edges(new) for old, new in zip(*lines, strict=True)):
        return False  # the parser ignores the cells that a row has too many
    touched = [mark[0] for mark in _FIXED.finditer(before) if mark.start() < end - first and start - first < mark.end()]
    if any(not inline_code or not mark.startswith("`") for mark in touched):
        return False
    if not before.strip():
        return True
    if inline_code and not _keeps_other_code(before, after, len(touched)):
        return False
    return bool(after.strip()) and _shape(before, inline_code) == _shape(after, inline_code)


def _cell_edges(line: str) -> int:
    """The number of marks in the line that may separate the cells of a table."""
    return len(_CELL_EDGE.findall(line))


def _keeps_other_code(before: str, after: str, touched: int) -> bool:
    """Whether a change leaves all code between backticks as it is, except for `touched` pieces.

    False too if it adds a backtick that is printed.
    """
    (old, alone), (new, alone_after) = _inline_code(before), _inline_code(after)
    same = 0
    for sequences in (zip(old, new, strict=False), zip(reversed(old), reversed(new), strict=False)):
        same += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], sequences))
    return alone_after <= alone and same >= len(old) - touched


def _inline_code(block: str) -> tuple[list[str], int]:
    """The pieces of code between backticks in a block, and how many backticks are printed."""
    tokens = [child for token in _markdown().parse(block) for child in token.children or ()]
    code = [token.content for token in tokens if token.type == "code_inline"]
    return code, sum(token.content.count("`") for token in tokens if token.type == "text")


@lru_cache(maxsize=16)  # changes of one paragraph are usually checked in a row
def _shape(block: str, inline_code: bool) -> bytes:
    """A digest of the block's structure, which takes far less memory than the parsed tokens.

    `inline_code`: code between backticks counts as words.
    """
    marks = hashlib.sha256()
    for kind, *each in _shapes(_markdown().parse(block)):
        if kind != "code_inline" or not inline_code:
            marks.update(repr((kind, *each)).encode("utf-8", "surrogatepass"))
    return marks.digest()


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # loaded late: `app.serve` imports it after the start

    return MarkdownIt("commonmark").enable("table").disable("code")


def _shapes(tokens: list[Token]) -> Iterator[tuple[object, ...]]:
    for token in tokens:
        if token.type != "text":
            yield token.type, token.tag, token.markup, token.info, tuple(token.attrs.items())
        if token.children:
            yield from _shapes(token.children)
