"""The export settings, with their defaults, values and bounds. `http/exports_schemas.py` validates them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

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
    require_complete: bool = False

    @classmethod
    def cleaned(cls, given: Mapping[str, Any]) -> ExportSettings:
        """The settings with the values `given`. Characters that a page cannot show are removed from texts."""
        texts = {name: clean(value).strip() for name, value in given.items() if name in MAX_LENGTHS}
        if "publisher" in texts:
            texts["publisher"] = one_line(texts["publisher"])
        return cls(**{**given, **texts})

    @classmethod
    def of_book(cls, chosen: Mapping[str, Any]) -> ExportSettings:
        """The settings stored with a book. Settings that this release does not have are ignored."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in chosen.items() if name in known})


CHOICES = {
    "font": ("serif", "sans", "dyslexic"),
    "chapter_starts": ("right", "any"),
    "profile": ("digital", "print"),
    "paper": tuple(RULES["paperback"]["page"]),
}
PAGES_OF_A_SCAN = 10  # in one batch of images; even, so that each batch begins with a right-hand page
RANGES = {"font_size": (8.0, 18.0), "line_spacing": (1.0, 2.0)}
MAX_LENGTHS = {"dedication": 1_000, "copyright_text": 5_000, "isbn": 20, "publisher": 200}

MEANINGS = {
    "include_cover": "Begin the file with the selected cover. Not in a PDF with the `print` profile.",
    "include_title_page": "Include the title page.",
    "include_copyright_page": "Include the copyright page.",
    "include_toc": "Include the table of contents. A book with one chapter has none, unless it has several poems.",
    "include_illustrations": "Include the pictures of the chapters.",
    "dedication": "The text of the dedication page. Empty: no dedication page.",
    "copyright_text": "The text of the copyright page. Empty: a standard notice.",
    "isbn": "An ISBN-10 or ISBN-13, with or without hyphens.",
    "publisher": "The publisher's name.",
    "font": "The typeface. Scripts that it lacks are set in other faces.",
    "font_size": "The size of the text in points. Null: chosen by page size, in a picture book by age range.",
    "line_spacing": "The distance between lines. 1.0 is single spacing: about 1.2 times the font size, and about "
    "1.5 times in Chinese, Japanese and Korean.",
    "justify": "Align the text on both sides.",
    "hyphenate": "Break words at the ends of lines.",
    "drop_caps": "Start each chapter with a large letter. Only in PDF and EPUB.",
    "chapter_starts": "Start chapters on a right-hand page or on any page. Only in `print` PDF and Word files.",
    "page_numbers": "Number the pages.",
    "running_heads": "Put the titles of the book and the chapter at the top of each page.",
    "profile": "`digital`: for screens, with cover, links, tags and PDF/A. `print`: for printing. EPUB ignores it.",
    "color": "Print pictures in colour instead of grey. Only in a PDF with the `print` profile.",
    "bleed": "Add bleed around the pages. Only in a PDF with the `print` profile.",
    "cover_wrap": "Make the whole print cover (back, spine and front) instead of the text. Only in PDF.",
    "paper": "The colour of the paper, which decides the width of the spine. Only in a PDF with `cover_wrap`.",
    "require_complete": "Refuse a book with a missing chapter (409) instead of leaving the chapter out.",
}

_ISBN_13, _ISBN_10 = re.compile("[0-9]{13}"), re.compile("[0-9]{9}[0-9X]")


def is_isbn(text: str) -> bool:
    """Whether the text is an ISBN-10 or ISBN-13 with the right check digit."""
    digits = text.replace("-", "").replace(" ", "").upper()
    return _is_isbn13(digits) or _is_isbn10(digits)


def _is_isbn13(digits: str) -> bool:
    weighed = (int(digit) * (1, 3)[index % 2] for index, digit in enumerate(digits))
    return _ISBN_13.fullmatch(digits) is not None and sum(weighed) % 10 == 0


def _is_isbn10(digits: str) -> bool:
    weighed = ((10 if digit == "X" else int(digit)) * (10 - index) for index, digit in enumerate(digits))
    return _ISBN_10.fullmatch(digits) is not None and sum(weighed) % 11 == 0
