"""Formats quality notes, the editor's findings and the proofreader's suggestions for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

Found = Mapping[str, Any]
MAX_EXCERPT_CHARACTERS = 70
FEW_CHARACTERS, WORDS_AROUND = 12, 2  # a correction this short is shown with the words around it
SAME_CHARACTERS = 30  # at the start of a long passage and its replacement: more are left out
_QUOTATION = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_ROW_EDGE = re.compile(r"^[ \t]*\||\|[ \t]*$", re.MULTILINE)
_CELL_EDGE = re.compile(r"[ \t]*\|[ \t]*")
_LAST_WORDS = re.compile(rf"(?:\S+[ \t]+){{0,{WORDS_AROUND}}}\S*\Z")
_FIRST_WORDS = re.compile(rf"\S*(?:[ \t]+\S+){{0,{WORDS_AROUND}}}")


def note_lines(note: Found) -> Iterator[str]:
    """The lines for a quality note: the chapter's number and the problem, then an excerpt of the text."""
    yield f"  Chapter {note['chapter_number']}: {note['detail']}"
    if excerpt := _excerpt(note["excerpt"]):
        yield f"    “{excerpt}”"


def suggestion_lines(suggestion: Found) -> Iterator[str]:
    """The lines for a suggestion: the chapter's number, the passage, its replacement (if any) and the explanation."""
    before, after = _passages(suggestion)
    change = f" → “{_excerpt(after)}”" if after else ""
    yield f"  Chapter {suggestion['chapter_number']}: “{_excerpt(before)}”{change}"
    for line in suggestion["explanation"].splitlines():
        yield f"    {line.strip()}"


def _passages(suggestion: Found) -> tuple[str, str]:
    """The passage and its replacement: short ones with the words around them, long ones from where they differ."""
    before, after = suggestion["original_text"], suggestion["suggested_text"]
    if not after:
        return before, ""
    if len(before) <= FEW_CHARACTERS:
        last = _LAST_WORDS.search(suggestion.get("prefix", ""))
        first = _FIRST_WORDS.match(suggestion.get("suffix", ""))
        left, right = last[0] if last else "", first[0] if first else ""
        return f"{left}{before}{right}", f"{left}{after}{right}"
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if same > SAME_CHARACTERS and max(len(before), len(after)) > MAX_EXCERPT_CHARACTERS:
        start = before.rfind(" ", 0, same - SAME_CHARACTERS // 2) + 1
        return f"… {before[start:]}", f"… {after[start:]}"
    return before, after


def _excerpt(text: str) -> str:
    """The beginning of a text in one line, without the marks of a quotation or a table's row and without its quotes."""
    bare = _QUOTATION.sub("", text)
    bare = _CELL_EDGE.sub(" ", bare) if _ROW_EDGE.search(bare) else bare
    plain = " ".join(bare.split())
    if plain[:1] in ("“", '"') and plain[-1:] in ("”", '"') and not set(plain[1:-1]) & set('“”"'):
        plain = plain[1:-1]
    return textwrap.shorten(plain, MAX_EXCERPT_CHARACTERS, placeholder=" …")
