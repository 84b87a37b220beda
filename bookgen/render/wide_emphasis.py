"""Emphasis in Chinese and Japanese that Markdown's rules miss, because a mark is next to its asterisks.

By CommonMark's rules, the asterisks of `*止まれ。*と` are not emphasis, as the second one is between a mark and a
letter. In languages without spaces, emphasis often ends there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from bookgen.render.characters import is_wide
from bookgen.render.model import Span

_EMPHASIS = re.compile(r"(?P<mark>\*{1,3})(?P<text>[^\s*](?:[^*\n]*[^\s*])?)(?P=mark)(?!\*)")


def with_wide_emphasis(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans. Text in asterisks with a wide character at either end gets its emphasis and loses the asterisks."""
    for span in spans:
        yield from [span] if span.code or "*" not in span.text else _divided(span)


def _divided(span: Span) -> Iterator[Span]:
    end = 0
    for found in _EMPHASIS.finditer(span.text):
        mark, text = found["mark"], found["text"]
        if not (is_wide(text[0]) or is_wide(text[-1])):
            continue
        if found.start() > end:
            yield replace(span, text=span.text[end : found.start()])
        is_bold, is_italic = len(mark) > 1, len(mark) != 2
        yield replace(span, text=text, bold=span.bold or is_bold, italic=span.italic or is_italic)
        end = found.end()
    if end < len(span.text):
        yield replace(span, text=span.text[end:])
