"""The strict building blocks of request and response shapes, and how a request is held against one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from bookgen.errors import InvalidInput

LARGEST = 2**63 - 1


class Body(Schema):
    """A request: what it does not name is dropped."""

    class Meta:
        unknown = EXCLUDE


class Integer(fields.Integer):
    """An int, a whole float or a string of digits; no bool, no fraction, nothing beyond a bigint."""

    def __init__(self, *, minimum: int = -LARGEST - 1, maximum: int = LARGEST, **kwargs: Any) -> None:
        super().__init__(validate=validate.Range(min=minimum, max=maximum), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        match value:
            case bool():
                pass
            case int():
                return value
            case float() if value.is_integer() and abs(value) < 2**53:
                return int(value)
            case str() if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", value):
                return int(value)
        raise self.make_error("invalid", input=value)


class Text(fields.String):
    """Text of at most `maximum` characters, its ends trimmed. What must not be empty says `minimum=1`."""

    def __init__(self, maximum: int, *, minimum: int = 0, trim: bool = True, **kwargs: Any) -> None:
        super().__init__(validate=validate.Length(min=minimum or None, max=maximum), **kwargs)
        self._trim = trim

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = str(super()._deserialize(value, attr, data, **kwargs))
        return text.strip() if self._trim else text


def choice(values: Iterable[str]) -> validate.OneOf:
    return validate.OneOf([str(value) for value in values])


def load(schema: Schema, data: Mapping[str, Any]) -> dict[str, Any]:
    """The validated request, or InvalidInput with the messages of each field."""
    try:
        loaded: dict[str, Any] = schema.load(data)
    except ValidationError as error:
        messages: dict[str, Any] = error.normalized_messages()  # type: ignore[no-untyped-call]
        raise InvalidInput(**_by_field(messages)) from None
    return loaded


def _by_field(messages: Mapping[str, Any]) -> dict[str, list[str]]:
    return {("non_field_errors" if name == "_schema" else name): _flat(found) for name, found in messages.items()}


def _flat(found: Any, where: str = "") -> list[str]:
    """Messages of nested fields as one list: "chapters.2.title: Not a valid string."."""
    if isinstance(found, Mapping):
        return [text for key, inner in found.items() for text in _flat(inner, f"{where}{key}.")]
    prefix = f"{where.removesuffix('.')}: " if where else ""
    return [f"{prefix}{text}" for text in (found if isinstance(found, list) else [found])]
