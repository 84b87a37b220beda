"""Paragraphs and fenced code blocks of a Markdown text.

Code is printed as it is written. So a rule that changes text leaves every character inside a fence as it is, and a
fence is part of one paragraph, even if its code has empty lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

# A fence may be in a list item or a quotation. A line of tildes alone is a scene break.
_OPENING = re.compile(
    r"^(?P<indent>(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*)(?P<mark>`{3,}(?=[^`\n]*$)|~{3,}(?=[ \t]*[^~\s]))",
    re.MULTILINE,
)
_SEPARATOR = re.compile(r"\n[ \t]*\n\s*")
_CODE_CHARACTER = re.compile(r"[^\s`~>]")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced code block, `text[start:end]`, from the start of its first line to the end of its last one.

    `indent`: what is in front of its first mark. `is_closed`: False if the text ends inside it.
    """

    start: int
    end: int
    indent: str
    mark: str
    is_closed: bool


def fences(text: str) -> Sequence[Fence]:
    """The fenced code blocks of a text, in order."""
    return _found(text) if "```" in text or "~~~" in text else ()


@lru_cache(maxsize=8)  # several rules read the same chapter, and several changes of it are checked in a row
def _found(text: str) -> tuple[Fence, ...]:
    return tuple(_fences(text))


def _fences(text: str) -> Iterator[Fence]:
    end = 0
    while opening := _OPENING.search(text, end):
        indent, mark = opening.group("indent", "mark")
        closing = re.compile(rf"^[ \t>]*{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(text, opening.end())
        end = closing.end() if closing else len(text)
        yield Fence(opening.start(), end, indent, mark, closing is not None)


def stripped(text: str) -> str:
    """The text without white space at both ends. A fenced code block at its beginning keeps its indentation."""
    code = fences(text)
    return text[code[0].start :].rstrip() if code and not text[: code[0].start].strip() else text.strip()


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` applied to each piece outside its fenced code blocks."""
    return "".join(piece if is_code else change(piece) for piece, is_code in _pieces(text))


def without_fences(text: str) -> str:
    """`text` without its fenced code blocks. The text before and after one are different paragraphs."""
    return "".join(piece for piece, is_code in _pieces(text) if not is_code)


def masked_fences(text: str) -> str:
    """`text` with dots in place of the code in its fenced blocks. It has the same length and the same paragraphs."""
    return "".join(_masked(piece) if is_code else piece for piece, is_code in _pieces(text))


def _masked(code: str) -> str:
    first, line_end, rest = code.partition("\n")
    return first + line_end + _CODE_CHARACTER.sub("·", rest)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a fenced code block."""
    end = 0
    for fence in fences(text):
        yield text[end : fence.start], False
        yield text[fence.start : fence.end], True
        end = fence.end
    yield text[end:], False


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, without the white space between them."""
    return [paragraph for _, paragraph in spaced_paragraphs(text)]


def spaced_paragraphs(text: str) -> list[tuple[str, str]]:
    """Each paragraph after the white space in front of it, which includes its indentation."""
    text = text.rstrip()
    start = len(text) - len(text.lstrip())
    found, space = [], text[:start]
    following = iter(fences(text))
    fence = next(following, None)
    for separator in _SEPARATOR.finditer(text, start):
        while fence and fence.end <= separator.start():
            fence = next(following, None)
        if fence and fence.start <= separator.start():
            continue
        found.append((space, text[start : separator.start()]))
        space, start = separator[0], separator.end()
    return [*found, (space, text[start:])] if text else []


def joined(spaced: Sequence[tuple[str, str]]) -> str:
    """The text of paragraphs from `spaced_paragraphs`. The first one keeps only its indentation."""
    first = [space.rpartition("\n")[2] + paragraph for space, paragraph in spaced[:1]]
    return "".join([*first, *(space + paragraph for space, paragraph in spaced[1:])])
