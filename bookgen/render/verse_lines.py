"""The lines of verse, and their spaces. Markdown drops indents, so marks replace them before the text is parsed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from bookgen.render.characters import is_wide
from bookgen.render.model import Block, Paragraph, Span, Spans, lines_by_hand

_MARK = "\x02"  # cleaned text has no control characters
_END = "."  # follows the marks of a line: Markdown's emphasis begins after punctuation, not after a control character
_MARKS = re.compile(rf"{_MARK}+\{_END}")
_INDENTED = re.compile(r"[ \t]+(?=[^\s#>|`~])")
_WIDE = re.compile(r"[ \t]*\t[ \t]*|  +")
MAX_INDENT = 30  # spaces; a gap within a line is no wider either
MAX_LETTERS_OF_LINES = 60  # a wide letter counts as two
_MIN_LONG_LINES = 3
_MAX_LETTERS_OF_LONG_LINES = 200  # unless each of them begins with a number or a dash
_DASHES = "-–—―"
_OPENING = re.compile(r"""^[ \t*_~"'“”‘’„‚«»‹›(\[¿¡]+""")
_SENTENCE_END = re.compile(r"""[.!?…。！？:;—–](?:[ \t*_~"'“”‘’«»‹›)\]]|\[\^[^\]]*\])*$""")


def is_in_lines(paragraph: str) -> bool:
    """Whether a paragraph in a book of prose must keep its line breaks, as a rhyme, an address or a log must.

    True for two or more lines that are all short. Longer lines are kept only if there are at least three, and each
    begins with a dash, a digit or a capital. If any begins with a capital, the paragraph may be prose. The result is
    then False if an editor may have wrapped the lines, if all lines but the last end like a sentence or introduce
    speech, or if a line is very long.
    """
    lines = paragraph.split("\n")
    if len(lines) == 1 or all(_letters(line) <= MAX_LETTERS_OF_LINES for line in lines):
        return len(lines) > 1
    first = [_OPENING.sub("", line)[:1] for line in lines]
    if len(lines) < _MIN_LONG_LINES or not all(_is_mark(each) or _is_capital(each) for each in first):
        return False
    if all(map(_is_mark, first)):
        return True
    is_prose = _may_be_wrapped(lines) or all(map(_SENTENCE_END.search, lines[:-1]))
    return not is_prose and all(_letters(line) <= _MAX_LETTERS_OF_LONG_LINES for line in lines)


def lines_in_quote(blocks: Sequence[Block]) -> frozenset[int]:
    """The indexes of the blocks of a quotation to set without an indent: each short paragraph, and the block after it.

    So the salutation, the figures and the signature of a letter are not indented.
    """
    short = [isinstance(block, Paragraph) and _is_short(block.spans) for block in blocks]
    return frozenset(index for index in range(len(blocks)) if any(short[max(index - 1, 0) : index + 1]))


def _is_short(spans: Spans) -> bool:
    return _letters("".join(span.text for span in spans)) <= MAX_LETTERS_OF_LINES


def _letters(text: str) -> int:
    return sum(2 if is_wide(letter) else 1 for letter in text)


def _is_mark(letter: str) -> bool:
    return letter != "" and (letter in _DASHES or unicodedata.category(letter) == "Nd")


def _is_capital(letter: str) -> bool:
    return letter != "" and unicodedata.category(letter) in ("Lu", "Lt")


def _may_be_wrapped(lines: list[str]) -> bool:
    """Whether an editor may have wrapped the lines: none had room for the first word of the next one."""
    width = max(map(_letters, lines))
    words = (line.lstrip(" \t").partition(" ")[0] for line in lines[1:])
    return all(_letters(f"{line} {word}") > width for line, word in zip(lines, words, strict=False))


def with_marked_indent(line: str) -> str:
    """The line with a mark in place of each space of its indent, unless the text begins with a sign of Markdown."""
    found = _INDENTED.match(line)
    if not found:
        return line
    return _MARK * min(len(found[0].expandtabs(4)), MAX_INDENT) + _END + line[found.end() :]


def without_indents(spans: Spans) -> tuple[Spans, tuple[int, ...]]:
    """The spans without the marks of `with_marked_indent`, and each line's indent in spaces.

    The indents are empty if no line is indented.
    """
    lines = [line for line in lines_by_hand(spans) if any(map(_has_visible_text, line))]
    indents = tuple("".join(span.text for span in line).count(_MARK) for line in lines)
    bare = (replace(span, text=_MARKS.sub("", span.text)) for span in spans)
    kept = tuple(span for span in bare if span.text or span.note is not None)
    return kept, indents if any(indents) else ()


def _has_visible_text(span: Span) -> bool:
    """Whether the span has visible text or a note. A no-break space counts as text: poets set empty lines with it."""
    return span.note is not None or bool(_MARKS.sub("", span.text).strip(" "))


def with_bounded_gaps(spans: Spans) -> Spans:
    """The spans with gaps of at most MAX_INDENT spaces. A tab counts as four spaces."""
    return tuple(
        span if span.code else replace(span, text=_WIDE.sub(lambda gap: _bounded(gap[0]), span.text)) for span in spans
    )


def _bounded(gap: str) -> str:
    return " " * min(len(gap.replace("\t", "    ")), MAX_INDENT)


def with_spaces(code: str) -> str:
    """The text of a code block, with the marks that replaced its indents turned back into spaces."""
    return _MARKS.sub(lambda marks: " " * marks[0].count(_MARK), code)
