"""What stands above a chapter's text: the same in every format."""

from __future__ import annotations

import re

from bookgen.render.languages import Locale
from bookgen.render.model import Section
from bookgen.render.settings import ExportSettings


def chapter_heading(section: Section, settings: ExportSettings, language: Locale) -> tuple[str, str]:
    """The line with the number, and the title; either may be empty.

    The only chapter of a book has no number, and no title where the title page has said the same.
    """
    if section.numbered:
        return language.chapter_name(section.number, section.title)
    return "", "" if section.repeats_book_title and settings.include_title_page else section.title


def without_label(title: str, number: int, language: Locale) -> str:
    """The title without a label of its own: "Chapter 2: The End" stands below "Chapter 2" already."""
    found = re.match(rf"{re.escape(language.chapter.format(number))}\s*[:.–—-]+\s*(?=\S)", title, re.I)
    return title[found.end() :] if found else title


def says_the_same(title: str, other: str) -> bool:
    """Whether two titles differ in nothing but case and punctuation."""
    one, two = (re.findall(r"\w+", each.casefold()) for each in (title, other))
    return one == two
