"""Formats quality notes, the editor's findings and the proofreader's suggestions for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

Found = Mapping[str, Any]
MAX_EXCERPT_CHARACTERS = 70
_MARKUP = re.compile(r"\*+|^[ \t]*>[ \t]?|\|", re.MULTILINE)  # emphasis, quotations, the lines between a table's cells


def note_lines(note: Found) -> Iterator[str]:
    """The lines for a quality note: the chapter's number and the problem, then an excerpt of the text."""
    yield f"  Chapter {note['chapter_number']}: {note['detail']}"
    if excerpt := _excerpt(note["excerpt"]):
        yield f"    “{excerpt}”"


def suggestion_lines(suggestion: Found) -> Iterator[str]:
    """The lines for a suggestion: the chapter's number, the passage, its replacement (if any) and the explanation."""
    before, after = _excerpt(suggestion["original_text"]), suggestion["suggested_text"]
    change = f" → “{_excerpt(after)}”" if after else ""
    yield f"  Chapter {suggestion['chapter_number']}: “{before}”{change}"
    for line in suggestion["explanation"].splitlines():
        yield f"    {line.strip()}"


def _excerpt(text: str) -> str:
    """The beginning of a text, in one line and without Markdown characters."""
    plain = " ".join(_MARKUP.sub(" ", text).split()).strip('“”"')
    return textwrap.shorten(plain, MAX_EXCERPT_CHARACTERS, placeholder=" …")
