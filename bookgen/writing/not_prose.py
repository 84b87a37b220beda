"""Find paragraphs that are not running prose: quotations, code, lists, tables, verse, and letters to somebody.

The rules for prose do not apply to them. A quotation keeps its language, verse has refrains, a letter may have blanks
to fill in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookgen.writing.blocks import fences

MAX_VERSE_CHARACTERS = 72  # of a line
MAX_LETTER_PARAGRAPHS = 15
MAX_NAME_CHARACTERS = 40
LETTER_WITHOUT_END = 3  # paragraphs that count as a letter if it has no signature

_MARKUP = re.compile(r"\s*(?:>|```|~~~|[-*+]\s|\d{1,3}[.)]\s|\|)|(?: {4}|\t)")
_SALUTATION = re.compile(
    r"[\W_]*(?:(?:my )?dear(?:est)?|to whom it may|hello|hi|liebe[rs]?|liebste[rs]?|mein(?:e)? lieb|sehr geehrte|hallo|"
    r"(?:mon |ma )?(?:cher|chère)|monsieur|madame|(?:mi )?querid[oa]s?|estimad[oa]s?|car[oaie]|gentile|prezad[oa]|"
    r"beste|geachte|дорог(?:ой|ая)|уважаем|亲爱的|拝啓)(?:\b|(?<=[的啓]))[^.?\n]{0,60}[,:!，：]?\s*(?=\n|$)",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(
    r"[\W_]*(?:yours|sincerely|(?:kind |warm |best )?regards|best(?: wishes)?|(?:with (?:all my )?)?love|your \w+|"
    r"faithfully|respectfully|affectionately|mit (?:freundlichen|herzlichen|besten|lieben)|herzlich|deine?|ihre?|"
    r"viele grüße|liebe grüße|in liebe|cordialement|bien à|amicalement|je (?:t['’]embrasse|vous prie)|atentamente|"
    r"saludos|un abrazo|con cariño|cordiali|distinti|tu[oa]|um abraço|atenciosamente|groeten|с уважением|此致|敬具)\b"
    r"[^.?!\n]{0,40}(?:\n|[,.!]?\s*$)",
    re.IGNORECASE,
)
_SPEECH = re.compile(r"[\"“”„«»「『]|(?:^|\n)\s*(?:—|–|--(?!-)|- |‘)|(?:^|\s)[‘']\w")


def not_prose(blocks: Sequence[str]) -> frozenset[int]:
    """The indexes of the paragraphs that are not running prose."""
    return frozenset(
        {*(i for i, block in enumerate(blocks) if is_marked_up(block) or is_verse(block))} | letters(blocks)
    )


def is_marked_up(block: str) -> bool:
    """Whether the paragraph is a block quotation, code, a list or a table."""
    return bool(_MARKUP.match(block) or fences(block))


def is_quoted(block: str) -> bool:
    """Whether the paragraph is a block quotation."""
    return block.lstrip().startswith(">")


def is_verse(block: str) -> bool:
    """Whether the paragraph consists of short lines."""
    lines = block.strip().split("\n")
    return len(lines) > 1 and all(len(line) <= MAX_VERSE_CHARACTERS for line in lines)


def has_speech(block: str) -> bool:
    """Whether the paragraph may contain direct speech."""
    return bool(_SPEECH.search(block))


def letters(blocks: Sequence[str]) -> set[int]:
    """The indexes of the paragraphs that form letters, from the salutation to the signature and the name below it."""
    found: set[int] = set()
    for start, block in enumerate(blocks):
        if start not in found and _SALUTATION.match(block):
            found.update(range(start, _end_of_letter(blocks, start) + 1))
    return found


def _end_of_letter(blocks: Sequence[str], start: int) -> int:
    last = len(blocks) - 1
    for index in range(start + 1, min(start + MAX_LETTER_PARAGRAPHS, last) + 1):
        if _SIGNATURE.match(blocks[index]):
            has_name = index < last and len(blocks[index + 1]) <= MAX_NAME_CHARACTERS
            return index + 1 if has_name else index
    return min(start + LETTER_WITHOUT_END, last)
