"""The heading of a chapter, the same in every format."""

from __future__ import annotations

import re

from bookgen.render.locales import Locale
from bookgen.render.model import Section
from bookgen.render.settings import ExportSettings


def chapter_heading(section: Section, settings: ExportSettings, language: Locale) -> tuple[str, str]:
    """The line with the chapter number, and the title. Either may be empty.

    A book's only chapter has no number, and no title if that repeats the title page. A section of a book of verse
    and a separate story have no number either, if they have a title.
    """
    if section.numbered and not ((section.verse or section.is_story) and section.title.strip()):
        return language.chapter_name(section.number, section.title)
    return "", "" if section.repeats_book_title and settings.include_title_page else section.title


def without_label(title: str, number: int, language: Locale) -> str:
    """The title without the chapter label in front: "Chapter 2: The End" becomes "The End".

    The label is left out because the heading already shows "Chapter 2" above the title.
    """
    found = re.match(rf"{re.escape(language.chapter.format(number))}\s*[:.–—-]+\s*(?=\S)", title, re.I)
    return title[found.end() :] if found else title


def says_the_same(title: str, other: str) -> bool:
    """Whether two titles are the same apart from case and punctuation."""
    one, two = (re.findall(r"\w+", each.casefold()) for each in (title, other))
    return one == two
