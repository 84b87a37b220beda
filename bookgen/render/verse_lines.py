"""The lines of verse, and their spaces. Markdown drops indents, so marks replace them before the text is parsed."""

from __future__ import annotations

import re
from dataclasses import replace

from bookgen.render.characters import is_wide
from bookgen.render.model import Span, Spans, lines_by_hand

_MARK = "\x02"  # cleaned text has no control characters
_END = "."  # follows the marks of a line: Markdown's emphasis begins after punctuation, not after a control character
_MARKS = re.compile(rf"{_MARK}+\{_END}")
_INDENTED = re.compile(r"[ \t]+(?=[^\s#>|`~])")
_WIDE = re.compile(r"[ \t]*\t[ \t]*|  +")
MAX_INDENT = 30  # spaces; a gap within a line is no wider either
MAX_LETTERS_OF_LINES = 60  # a wide letter counts as two


def is_in_lines(paragraph: str) -> bool:
    """Whether a paragraph in a book of prose is set line by line, such as a rhyme or an address.

    That is so if all its lines are short. Longer lines were wrapped by an editor.
    """
    lines = paragraph.split("\n")
    return len(lines) > 1 and all(
        sum(2 if is_wide(letter) else 1 for letter in line) <= MAX_LETTERS_OF_LINES for line in lines
    )


def with_marked_indent(line: str) -> str:
    """The line with a mark for each space of its indent, unless it begins with a sign of Markdown."""
    found = _INDENTED.match(line)
    if not found:
        return line
    return _MARK * min(len(found[0].expandtabs(4)), MAX_INDENT) + _END + line[found.end() :]


def without_indents(spans: Spans) -> tuple[Spans, tuple[int, ...]]:
    """The spans without the marks of `with_marked_indent`, and each line's indent in spaces; empty if none has one."""
    lines = [line for line in lines_by_hand(spans) if any(map(_shows, line))]
    indents = tuple("".join(span.text for span in line).count(_MARK) for line in lines)
    bare = (replace(span, text=_MARKS.sub("", span.text)) for span in spans)
    kept = tuple(span for span in bare if span.text or span.note is not None)
    return kept, indents if any(indents) else ()


def _shows(span: Span) -> bool:
    """Whether a line with this span is kept. A no-break space is text: poets set empty lines with it."""
    return span.note is not None or bool(_MARKS.sub("", span.text).strip(" "))


def with_bounded_gaps(spans: Spans) -> Spans:
    """The spans with no gap wider than an indent may be. A tab is four spaces."""
    return tuple(
        span if span.code else replace(span, text=_WIDE.sub(lambda gap: _bounded(gap[0]), span.text)) for span in spans
    )


def _bounded(gap: str) -> str:
    return " " * min(len(gap.replace("\t", "    ")), MAX_INDENT)


def with_spaces(code: str) -> str:
    """Code with the marks of its indents turned back into spaces."""
    return _MARKS.sub(lambda marks: " " * marks[0].count(_MARK), code)
