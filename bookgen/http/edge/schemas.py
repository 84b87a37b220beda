"""Strict fields for request and response schemas, and the validation of requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from marshmallow import EXCLUDE, Schema, ValidationError, fields, pre_load, validate

from bookgen.errors import InvalidInput

LARGEST, LARGEST_SERIAL = 2**63 - 1, 2**31 - 1  # of a bigint and an integer column

HAS_NUL = "Text must not contain the character U+0000."
_S = TypeVar("_S", bound=Schema)

# The messages of all fields, in the words of people who send JSON.
fields.Field.default_error_messages |= {"required": "This field is required.", "null": "Must not be null."}
fields.String.default_error_messages |= {"invalid": "Must be a string."}
fields.Integer.default_error_messages |= {"invalid": "Must be a whole number."}
fields.Float.default_error_messages |= {"invalid": "Must be a number."}
fields.Boolean.default_error_messages |= {"invalid": "Must be true or false."}
fields.List.default_error_messages |= {"invalid": "Must be a list."}
fields.Nested.default_error_messages |= {"type": "Must be an object."}


def schema_keywords(**keywords: Any) -> Callable[[type[_S]], type[_S]]:
    """Add JSON Schema keywords to a schema's entry in the OpenAPI document.

    Do not use `anyOf` at the top level: client generators then make a class that accepts anything.
    """

    def mark(shape: type[_S]) -> type[_S]:
        shape.keywords = keywords  # type: ignore[attr-defined]
        return shape

    return mark


class Query(Schema):
    """Base class for the schemas of query strings. Unknown fields are dropped."""

    class Meta:
        unknown = EXCLUDE


class Body(Schema):
    """Base class for the schemas of request bodies. Drops unknown fields, and optional fields that are null."""

    class Meta:
        unknown = EXCLUDE

    def on_bind_field(self, name: str, field: fields.Field[Any]) -> None:
        field.allow_none = field.allow_none or self.partial is True or not field.required

    @pre_load
    def drop_nulls(self, data: Any, **_: Any) -> Any:
        if not isinstance(data, Mapping) or None not in data.values():
            return data
        return {
            name: value
            for name, value in data.items()
            if value is not None or (name in self.fields and not self.fields[name].allow_none)
        }


Body.error_messages = {"type": "Must be an object."}


class Range(validate.Range):
    """Checks that a number is in a range. The error message has the bounds and the number."""

    def __call__(self, value: Any) -> Any:
        try:
            return super().__call__(value)
        except ValidationError:
            bounds = self.bounds if self.is_bounded or value < self.min else "a smaller number"
            sent = int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
            raise ValidationError(f"Must be {bounds} (got {str(sent)[:40]}).") from None

    @property
    def is_bounded(self) -> bool:
        return bool(self.min > -LARGEST and self.max < LARGEST_SERIAL)

    @property
    def bounds(self) -> str:
        """The bounds in words: "from 1 to 10", "at least 1" if there is only a lower bound, or empty if there is none.

        The largest and the smallest integer of a database column do not count as bounds.
        """
        if self.is_bounded:
            return f"from {_numeral(self.min)} to {_numeral(self.max)}"
        return f"at least {_numeral(self.min)}" if self.min > -LARGEST else ""


def _numeral(number: float) -> str:
    return f"{int(number) if number == int(number) else number:,}"


class Integer(fields.Integer):
    """A JSON integer, written as 5 or 5.0. Booleans, fractions and values beyond a bigint are refused.

    `from_text`: digits in a string are accepted too, for a query parameter.
    """

    def __init__(
        self, *, minimum: int = -LARGEST - 1, maximum: int = LARGEST, from_text: bool = False, **kwargs: Any
    ) -> None:
        range_ = Range(min=minimum, max=maximum)
        super().__init__(validate=range_, **kwargs)
        self._from_text = from_text
        self._range = range_
        bounds = f" {'of ' * (maximum >= LARGEST_SERIAL)}{range_.bounds}" if range_.bounds else ""
        self._wrong = f"Must be a whole number{bounds}."

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        match value:
            case bool():
                pass
            case int():
                return value
            case float() if value.is_integer() and abs(value) < 2**53:
                return int(value)
            case float() if value.is_integer():  # beyond 2**53 a float has lost digits
                if self._range.is_bounded or value < 0:
                    self._range(value)
                raise ValidationError(f"Must be a smaller number (got {value:.0f}).")
            case str() if self._from_text and re.fullmatch(r"[+-]?[0-9]{1,19}", value):
                return int(value)
        raise ValidationError(self._wrong)


class Number(fields.Float):
    """A JSON number from `minimum` to `maximum`. Booleans and text are refused."""

    def __init__(self, *, minimum: float, maximum: float, **kwargs: Any) -> None:
        range_ = Range(min=minimum, max=maximum)
        super().__init__(validate=range_, **kwargs)
        self._wrong = f"Must be a number {range_.bounds}."

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError(self._wrong)
        return float(super()._deserialize(value, attr, data, **kwargs))


class Flag(fields.Boolean):
    """JSON true or false. `from_text`: also the strings "true" and "false", for a query parameter."""

    def __init__(self, *, from_text: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._from_text = from_text

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if self._from_text and value in ("true", "false"):
            return bool(value == "true")
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


# Characters of a blank text: white space in JavaScript or Python, and characters that no book file may contain.
_BLANK = r"\s\u0001-\u001f\u007f-\u009f\u00ad\ufdd0-\ufdef\ufeff\ufffe\uffff"
_BLANKS = re.compile(f"[{_BLANK}]*")


def optional_pattern(pattern: str) -> str:
    """A regular expression that accepts blank text, and text that matches `pattern` apart from blanks at its ends.

    It describes an optional field in the OpenAPI document.
    """
    return f"^[{_BLANK}]*(?:{pattern})?[{_BLANK}]*$"


def _trimmed(text: str) -> str:
    """The text without blanks at its ends. `re.sub` would take quadratic time if there are many blanks inside."""
    return text[_end_of_blanks(text) : len(text) - _end_of_blanks(text[::-1])]


def _end_of_blanks(text: str) -> int:
    found = _BLANKS.match(text)
    return found.end() if found else 0


class _Length(validate.Length):
    """Checks a length. The error message has the allowed lengths and the actual length."""

    def __init__(self, unit: str, minimum: int, maximum: int) -> None:
        super().__init__(min=minimum or None, max=maximum)
        self._unit = unit

    def __call__(self, value: Any) -> Any:
        try:
            return super().__call__(value)
        except ValidationError:
            if not value:
                raise ValidationError("Must not be empty.") from None
            # A value that is too long was already refused when it was read.
            raise ValidationError(
                f"Must have {self.min:,} to {self.max:,} {self._unit} (got {len(value):,})."
            ) from None


class String(fields.String):
    """Text of at most `maximum` characters. Blanks at its ends are removed unless `trim` is false.

    `minimum=1` refuses blank text. `also`: a further check, which raises ValidationError.
    """

    def __init__(
        self,
        maximum: int,
        *,
        minimum: int = 0,
        trim: bool = True,
        also: Callable[[str], None] | None = None,
        **kwargs: Any,
    ) -> None:
        checks = [_Length("characters", minimum, maximum), *([also] if also else ())]
        super().__init__(validate=checks, **kwargs)
        self._maximum = maximum
        self._trim = trim
        self.pattern = rf"^[^\u0000]*[^{_BLANK}\u0000][^\u0000]*$" if minimum else r"^[^\u0000]*$"

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = str(super()._deserialize(value, attr, data, **kwargs))
        if len(text) > self._maximum:
            raise ValidationError(f"Must have at most {self._maximum:,} characters (got {len(text):,}).")
        if "\0" in text:
            raise ValidationError(HAS_NUL)
        return _trimmed(text) if self._trim else text


class List(fields.List[Any]):
    """A list of at most `maximum` items. The items are counted before any of them is validated."""

    def __init__(self, inner: fields.Field[Any], maximum: int, *, minimum: int = 0, **kwargs: Any) -> None:
        super().__init__(inner, validate=_Length("items", minimum, maximum), **kwargs)
        self._maximum = maximum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if isinstance(value, list) and len(value) > self._maximum:
            raise ValidationError(f"Must have at most {self._maximum} items (got {len(value):,}).")
        return super()._deserialize(value, attr, data, **kwargs)


def as_json(schema: type[Schema], source: object, /, **others: Any) -> dict[str, Any]:
    """The JSON object with the fields of `schema`.

    The value of a field is the keyword argument with its name or, if there is none, the attribute of `source`.
    """
    return {name: others[name] if name in others else getattr(source, name) for name in _field_names(schema)}


@cache
def _field_names(schema: type[Schema]) -> tuple[str, ...]:
    return tuple(schema().declared_fields)


def choice(values: Iterable[str]) -> validate.OneOf:
    return validate.OneOf([str(value) for value in values], error="Must be one of: {choices}.")


def load(schema: Schema, data: Mapping[str, Any]) -> dict[str, Any]:
    """The validated data. Raises InvalidInput with the error messages of each field."""
    try:
        loaded: dict[str, Any] = schema.load(data)
    except ValidationError as error:
        messages: dict[str, Any] = error.normalized_messages()  # type: ignore[no-untyped-call]
        raise InvalidInput(**by_field(messages)) from None
    for name, value in loaded.items():
        if not isinstance(schema.fields[name], fields.Dict) and _holds_nul(value):
            raise InvalidInput(**{name: [HAS_NUL]})
    return loaded


def _holds_nul(value: Any) -> bool:
    """Whether the value contains U+0000, which JSON allows but PostgreSQL cannot store in a text."""
    match value:
        case str():
            return "\0" in value
        case Mapping():
            return any(_holds_nul(key) or _holds_nul(member) for key, member in value.items())
        case list():
            return any(map(_holds_nul, value))
    return False


def by_field(messages: Mapping[str, Any]) -> dict[str, list[str]]:
    """Convert marshmallow's error `messages` to the form of the API: a flat list for each field."""
    return {("non_field_errors" if name == "_schema" else name): _flat(found) for name, found in messages.items()}


def _flat(found: Any, where: str = "") -> list[str]:
    """The messages in `found`, including those of nested fields, as one list. `where`: the path to `found`.

    The message of a nested field begins with its path. For the title of the third item: "[2].title: Must be a string."
    """
    if isinstance(found, Mapping):
        return [text for key, inner in found.items() for text in _flat(inner, f"{where}{_path_step(key, where)}")]
    prefix = f"{where}: " if where else ""
    return [f"{prefix}{text}" for text in (found if isinstance(found, list) else [found])]


def _path_step(key: Any, where: str) -> str:
    """The text that `key` appends to the path `where` of a nested field: "[2]", ".title", or "title" at the start.

    The text is empty for `_schema`, marshmallow's name for the object itself.
    """
    if key == "_schema":
        return ""
    return f"[{key}]" if isinstance(key, int) else f".{key}" if where else str(key)
