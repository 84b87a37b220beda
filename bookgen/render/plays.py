"""The speeches and directions of a play, recognised by the text of a chapter. Interviews are set like plays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from bookgen.render.model import LABEL_ENDS, Block, Paragraph, Spans, label_of

ABOVE_SPEECH = 0.5  # lines above a speech or a direction
MIN_SPEECHES = 4  # of a chapter
MIN_SHARE = 1 / 3  # of a chapter's paragraphs are speeches
SPEECHES_A_NAME = 1.5  # at least, on average; in a glossary, each name stands before one paragraph
MAX_NAME_LETTERS = 60
_OVERLAP = re.compile(r"(?<=\s)/ (?=\S)")


class Role(Enum):
    """What a paragraph is in a play. A cue is a speech without words: its words are the next block."""

    SPEECH = "speech"
    CUE = "cue"
    DIRECTION = "direction"


def roles(blocks: Sequence[Block]) -> dict[int, Role]:
    """The roles of a chapter's paragraphs, by index. Empty if the chapter is not a play.

    It is a play if at least a third of its paragraphs begin with a name in bold, and the names come back.
    """
    paragraphs = {index: block.spans for index, block in enumerate(blocks) if isinstance(block, Paragraph)}
    names = {index: name for index, spans in paragraphs.items() if (name := _name(spans))}
    if len(names) < max(MIN_SPEECHES, MIN_SHARE * len(paragraphs)):
        return {}
    if SPEECHES_A_NAME * len(set(names.values())) > len(names):
        return {}
    found: dict[int, Role] = {}
    for index, spans in paragraphs.items():
        if index in names:
            found[index] = Role.CUE if _is_direction(label_of(spans)[1]) else Role.SPEECH
        elif _is_direction(spans):
            found[index] = Role.DIRECTION
    return found


def with_kept_overlaps(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of a chapter. In a play, a / that marks where the next speaker begins stays with the word after it."""
    kept = list(blocks)
    for index, role in roles(blocks).items():
        block = kept[index]
        if role is Role.SPEECH and isinstance(block, Paragraph):
            spans = (replace(span, text=_OVERLAP.sub("/\u00a0", span.text)) for span in block.spans)
            kept[index] = Paragraph(tuple(spans))
    return tuple(kept)


def _name(spans: Spans) -> str:
    """The name in bold with which a speech begins, without the mark after it. Empty if there is none."""
    name, _ = label_of(spans)
    return name.rstrip("".join(LABEL_ENDS)) if len(name) <= MAX_NAME_LETTERS else ""


def _is_direction(spans: Spans) -> bool:
    """Whether all words are in italics."""
    return all(span.italic or not span.text.strip(" \n:：") for span in spans if span.note is None)
