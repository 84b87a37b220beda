"""The indents of verse lines. Markdown drops them, so they are marked before it is parsed."""

from __future__ import annotations

import re
from dataclasses import replace

from bookgen.render.model import Span, Spans, lines_by_hand

_MARK = "\x02"  # cleaned text has no control characters
_INDENTED = re.compile(r"[ \t]+(?=[^\s#>|`~])")
MAX_INDENT = 30  # spaces


def with_marked_indent(line: str) -> str:
    """The line with a mark for each space of its indent, unless it begins with a sign of Markdown."""
    found = _INDENTED.match(line)
    return _MARK * min(len(found[0].expandtabs(4)), MAX_INDENT) + line[found.end() :] if found else line


def without_indents(spans: Spans) -> tuple[Spans, tuple[int, ...]]:
    """The spans without marks, and the indent of each line in spaces; empty if no line has one."""
    lines = [line for line in lines_by_hand(spans) if any(map(_shows, line))]
    indents = tuple("".join(span.text for span in line).count(_MARK) for line in lines)
    bare = (replace(span, text=span.text.replace(_MARK, "")) for span in spans)
    kept = tuple(span for span in bare if span.text or span.note is not None)
    return kept, indents if any(indents) else ()


def _shows(span: Span) -> bool:
    """Whether a line with this span is kept. A no-break space is text: poets set empty lines with it."""
    return span.note is not None or bool(span.text.replace(_MARK, "").strip(" "))


def with_spaces(code: str) -> str:
    """Code with its indents as spaces again."""
    return code.replace(_MARK, " ")
