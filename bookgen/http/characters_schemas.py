"""The request field for the characters of a children's book."""

from __future__ import annotations

import re
from typing import Any

from marshmallow import ValidationError, fields

MAX_FIGURES, MAX_NAME_LENGTH, MAX_DESCRIPTION_LENGTH = 8, 120, 500

# What separates a name from its description: "Pip, a small red fox", "Pip (a fox)", "Pip: a fox".
_APART = re.compile(r"\s*[:,;(，、：（]\s*|\s+[-–—]\s+")
_TEXT = {"type": "string", "maxLength": MAX_DESCRIPTION_LENGTH, "pattern": r"^[^\u0000]*$"}
_CHARACTER = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NAME_LENGTH,
            "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
        },
        "description": _TEXT,
    },
    "required": ["name"],
}


class Characters(fields.Field[list[dict[str, str]]]):
    """The characters of a children's book, converted to a list of objects with a name and a description.

    The request may send a list of names, a list of objects, or one text.
    """

    def __init__(self, metadata: dict[str, Any], **kwargs: Any) -> None:
        several = {"type": "array", "maxItems": MAX_FIGURES, "items": {"anyOf": [_CHARACTER, _TEXT]}}
        super().__init__(metadata={"anyOf": [several, _TEXT], **metadata}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[dict[str, str]]:
        given = value if isinstance(value, list) else [value]
        if len(given) > MAX_FIGURES:
            raise ValidationError(f"A book has at most {MAX_FIGURES} story characters (got {len(given)}).")
        return [character for each in given if (character := _character(each))]


def _character(value: Any) -> dict[str, str] | None:
    """The character as an object with a name and a description; None for a blank text."""
    match value:
        case str():
            name, *rest = _APART.split(_text(value, MAX_DESCRIPTION_LENGTH), maxsplit=1)
            description = "".join(rest).removesuffix(")")
            if len(name) > MAX_NAME_LENGTH:
                name, description = "", _text(value, MAX_DESCRIPTION_LENGTH)
        case {"name": str(name), **others}:
            name = _text(name, MAX_NAME_LENGTH)
            told = others.get("description", "")
            if not name or not isinstance(told, str):
                raise ValidationError("A character needs a name and a description, both strings.")
            description = _text(told, MAX_DESCRIPTION_LENGTH)
        case _:
            raise ValidationError("A character must be a string, or an object with a name.")
    character = {"name": name.strip(), "description": description.strip()}
    return character if any(character.values()) else None


def _text(value: str, longest: int) -> str:
    if len(value) > longest:
        raise ValidationError(f"Must have at most {longest} characters (got {len(value)}).")
    return value.strip()
