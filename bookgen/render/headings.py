"""The heading of a chapter, the same in every format."""

from __future__ import annotations

import re

from bookgen.render.locales import Locale
from bookgen.render.model import Section
from bookgen.render.settings import ExportSettings

_ACTS = (
    r"(?:acte?s?|scenes?|part|akt|aufzug|szene|bild|teil|bedrijf|toneel|deel|scène|tableau|partie|acto|escena|cuadro|"
    r"parte|atto|scena|quadro|ato|cena|actul|partea|акт|действие|сцена|картина|часть|дія|odsłona|"
    r"część|jednání|dějství|dejstvo|obraz|část|časť|del|scen|näytös|kohtaus|osa|felvonás|jelenet|rész|perde|sahne|"
    r"bölüm|πράξη|σκηνή|μέρος|מערכה|תמונה|الفصل|المشهد|अंक|दृश्य|màn|cảnh|hồi|babak|adegan|องก์|ฉาก)"
)
# "Act One", "Erster Akt", "1. Akt" or "第一幕", and then the end or a mark.
_ACT = re.compile(
    rf"(?:{_ACTS}\s+[^\s:.–—]+|[^\s:–—]+\s+{_ACTS})\s*(?:[:.,–—-]|$)|第\S{{1,3}}[幕場场部景]|제\s?\S{{1,3}}\s?[막장부]",
    re.IGNORECASE,
)


def chapter_heading(section: Section, settings: ExportSettings, language: Locale) -> tuple[str, str]:
    """The line with the chapter number, and the title. Either may be empty.

    A book's only chapter has no number, and no title if that repeats the title page. A section of a book of verse
    and one that is `titled_alone` have no number either, if they have a title.
    """
    if section.numbered and not ((section.verse or section.titled_alone) and section.title.strip()):
        return language.chapter_name(section.number, section.title)
    return "", "" if section.repeats_book_title and settings.include_title_page else section.title


def names_an_act(title: str) -> bool:
    """Whether a title begins with an act, a scene or a part and its number, such as "Act One: The Line".

    The number may be any word, so this is only true of titles in a play.
    """
    return _ACT.match(title) is not None


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
