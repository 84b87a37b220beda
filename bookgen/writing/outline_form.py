"""The form of an outline's reply, and what is read from it: each chapter exactly once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.writing import structured
from bookgen.writing.structured import Malformed

BIBLE_LISTS = ("people", "places", "terms")

_ENTRIES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
        "required": ["name", "description"],
        "additionalProperties": False,
    },
}
_CHAPTER = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["title", "summary"],
    "additionalProperties": False,
}
_BIBLE = {
    "type": "object",
    "properties": {
        "premise": {"type": "string"},
        "voice": {"type": "string"},
        "arc": {"type": "array", "items": {"type": "string"}},
        "people": _ENTRIES,
        "places": _ENTRIES,
        "terms": _ENTRIES,
    },
    "required": ["premise", "voice", "arc", "people", "places", "terms"],
    "additionalProperties": False,
}


def schema(numbers: Sequence[int], *, bible: bool) -> Mapping[str, Any]:
    """The form of a reply. Each chapter is a key of its own: no provider's schema mode can hold a list to a length."""
    keys = {f"chapter_{number}": _CHAPTER for number in numbers}
    parts = ({"bible": _BIBLE} if bible else {}) | {"chapters": _object(keys)}
    return _object(parts)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read_first(reply: Mapping[str, Any], last: int) -> tuple[Mapping[str, Any], list[tuple[str, str]]]:
    return _read_bible(reply.get("bible")), read_chapters(reply, 1, last)


def _read_bible(bible: object) -> Mapping[str, Any]:
    if not isinstance(bible, Mapping):
        raise Malformed('there is no object under "bible"')
    read: dict[str, Any] = {key: structured.text_of(bible, key, where="the bible") for key in ("premise", "voice")}
    read["arc"] = list(structured.texts_of(bible, "arc", most=10, longest=400))
    for key in BIBLE_LISTS:
        read[key] = [
            {
                "name": structured.text_of(entry, "name", where=f"an entry of {key}", longest=120),
                "description": structured.text_of(entry, "description", where=f"an entry of {key}", longest=400),
            }
            for entry in structured.records_of(bible, key)[:24]
        ]
    return read


def read_chapters(reply: Mapping[str, Any], first: int, last: int) -> list[tuple[str, str]]:
    """The chapters `first` to `last`, each exactly once."""
    wanted = list(range(first, last + 1))
    return list(read_numbered(reply, wanted).values())


def read_numbered(reply: Mapping[str, Any], wanted: Sequence[int]) -> dict[int, tuple[str, str]]:
    records = structured.records_of(reply, "chapters")
    numbers = [_number(record.get("number", record.get("chapter_number"))) for record in records]
    if isinstance(keyed := reply.get("chapters"), Mapping):
        numbers = [_number(key) for key in keyed]
    counted_anew = numbers == list(range(1, len(wanted) + 1))
    if len(records) == len(wanted) and (counted_anew or None in numbers):
        numbers = list(wanted)
    found: dict[int, tuple[str, str]] = {}
    for number, record in zip(numbers, records, strict=True):
        if number is not None and number in wanted and number not in found:
            found[number] = _chapter(record, number)
    missing = [number for number in wanted if number not in found]
    if missing:
        raise Malformed(
            f"{len(wanted)} chapters were asked for ({wanted[0]} to {wanted[-1]}), "
            f"but these are missing: {', '.join(map(str, missing))}"
        )
    return {number: found[number] for number in wanted}


def _number(value: object) -> int | None:
    digits = re.search(r"\d+", str(value)) if not isinstance(value, bool) else None
    return int(digits[0]) if digits else None


_NUMBERED_TITLE = re.compile(
    r"^(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|глава|rozdział|hoofdstuk)\s+\w+\s*[:.–—-]\s*", re.I
)
_EMPTY_WORDS = re.compile(
    r"^(?:title|summary|(?-i:TBD|TODO)|n/?a|string|\.+|chapter \d+|lorem ipsum.*)$", re.IGNORECASE
)


def _chapter(record: Mapping[str, Any], number: int) -> tuple[str, str]:
    where = f"chapter {number}"
    title = structured.text_of(record, "title", where=where, longest=300)
    title = _NUMBERED_TITLE.sub("", title).strip(' "“”*#') or title
    summary = structured.text_of(record, "summary", where=where)
    if _EMPTY_WORDS.match(title) or _EMPTY_WORDS.match(summary):
        raise Malformed(f"{where} has a placeholder instead of a title and a summary")
    return title[:200], summary
