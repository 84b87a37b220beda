"""Export settings: all keys with their defaults, and their validation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from bookgen.errors import InvalidInput
from bookgen.render.characters import clean, one_line
from bookgen.render.trim import RULES


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """Export settings. `require_complete` refuses books with missing chapters; all others affect how the file looks."""

    include_cover: bool = True
    include_title_page: bool = True
    include_copyright_page: bool = True
    include_toc: bool = True
    include_illustrations: bool = True
    dedication: str = ""
    copyright_text: str = ""
    isbn: str = ""
    publisher: str = ""
    font: str = "serif"
    font_size: float | None = None
    line_spacing: float = 1.1
    justify: bool = True
    hyphenate: bool = True
    drop_caps: bool = False
    chapter_starts: str = "right"
    page_numbers: bool = True
    running_heads: bool = True
    profile: str = "digital"
    color: bool = False
    bleed: bool = False
    cover_wrap: bool = False
    paper: str = "white"
    binding: str = "paperback"
    require_complete: bool = False


CHOICES = {
    "font": ("serif", "sans", "dyslexic"),
    "chapter_starts": ("right", "any"),
    "profile": ("digital", "print"),
    "paper": tuple(RULES["paperback"]["page"]),
    "binding": ("paperback",),
}
RANGES = {"font_size": (8.0, 18.0), "line_spacing": (1.0, 2.0)}
MAX_LENGTHS = {"dedication": 1_000, "copyright_text": 5_000, "isbn": 20, "publisher": 200}


def parse_settings(raw: Mapping[str, Any]) -> ExportSettings:
    """Validate the settings in `raw`. Unknown keys are ignored.

    Raises one InvalidInput with all invalid values, under `settings`.
    """
    values: dict[str, Any] = {}
    wrong: dict[str, list[str]] = {}
    for field in fields(ExportSettings):
        if raw.get(field.name) is None:
            continue
        try:
            values[field.name] = _check(field.name)(raw[field.name])
        except ValueError as error:
            wrong[field.name] = [str(error)]
    if wrong:
        raise InvalidInput(settings=wrong)
    return ExportSettings(**values)


def _check(name: str) -> Callable[[Any], Any]:
    if name in CHOICES:
        return lambda value: _choice(value, CHOICES[name])
    if name in RANGES:
        return lambda value: _number(value, *RANGES[name])
    if name == "isbn":
        return _isbn
    if name == "publisher":
        return lambda value: one_line(_text(value, MAX_LENGTHS[name]))
    if name in MAX_LENGTHS:
        return lambda value: _text(value, MAX_LENGTHS[name])
    return _flag


_NO_HARDCOVER = "Hardcover wraps are not supported yet. Choose paperback."


def _choice(value: Any, choices: tuple[str, ...]) -> str:
    if value == "hardcover":
        raise ValueError(_NO_HARDCOVER)
    if value not in choices:
        raise ValueError(f"Must be one of: {', '.join(choices)}.")
    return str(value)


def _number(value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"Must be a number from {least:g} to {most:g} (got {str(value)[:40]}).")
    return float(value)


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str):
        raise ValueError("Not a valid string.")
    if len(value) > longest:
        raise ValueError(f"Must have at most {longest} characters (got {len(value)}).")
    return clean(value).strip()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("Not a valid boolean.")
    return value


_ISBN_13, _ISBN_10 = re.compile("[0-9]{13}"), re.compile("[0-9]{9}[0-9X]")


def _isbn(value: Any) -> str:
    text = _text(value, MAX_LENGTHS["isbn"])
    digits = text.replace("-", "").replace(" ", "").upper()
    if text and not (_is_isbn13(digits) or _is_isbn10(digits)):
        raise ValueError("Must be a valid ISBN-10 or ISBN-13.")
    return text


def _is_isbn13(digits: str) -> bool:
    weighed = (int(digit) * (1, 3)[index % 2] for index, digit in enumerate(digits))
    return _ISBN_13.fullmatch(digits) is not None and sum(weighed) % 10 == 0


def _is_isbn10(digits: str) -> bool:
    weighed = ((10 if digit == "X" else int(digit)) * (10 - index) for index, digit in enumerate(digits))
    return _ISBN_10.fullmatch(digits) is not None and sum(weighed) % 11 == 0
