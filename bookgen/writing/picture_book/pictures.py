"""The prompts for an image model: for the hero, each spread and the cover. All use the same words for a character."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.models import Book, Chapter
from bookgen.writing import context

MAX_SHEET_CHARACTERS = 2_400
MAX_STORY_CHARACTERS = 700
OPENING_SPREADS = 3  # the first spreads, whose scenes a cover may show

LOOK = """\
Style: a warm, hand-painted picture-book illustration with simple shapes, clear colours and soft light, for children \
aged {ages}. {voice}
No text, letters, numbers, signatures, borders or frames. Nothing frightening."""

SHEET = """\
A character sheet for a picture book: the hero alone, full figure, three times side by side on a plain, light \
background: from the front, from the side, and walking. The same figure each time.

{figures}

{look}"""

SPREAD = """\
One picture from a picture book, square. The figures, which are the same in every picture of the book, look like this:

{figures}

This picture shows: {picture}

Keep faces and hands away from the edges.

{look}"""

COVER = """\
{wish}The cover of a picture book, portrait. The hero, {hero}, is on it alone or with one friend: large, whole, \
looking out of the picture, in the middle of something that happens at the beginning of the story. Calm sky or a plain \
background above the hero: the title is printed there later.

The figures look exactly as they do in every other picture of the book:

{figures}

The story begins:
{story}

{look}"""


def cover(book: Book, spreads: Sequence[Chapter], wish: str) -> str:
    """The prompt for the cover. `wish`: the line with the owner's wishes, which comes first."""
    hero = cast(book)[0].partition(":")[0]
    story = story_opening(book, spreads)
    return COVER.format(wish=wish, hero=hero, figures=figures(book), story=story, look=_look(book))


def story_opening(book: Book, spreads: Sequence[Chapter]) -> str:
    """What the cover may show, as text: the title, the theme, and the first spreads."""
    opening = [f"{each.summary} {each.content}" for each in spreads[:OPENING_SPREADS]]
    lines = [" ".join(each.split()) for each in (book.title, book.theme, *opening)]
    return "\n".join(line for line in lines if line)[:MAX_STORY_CHARACTERS]


def sheet(book: Book) -> str:
    """The prompt for the picture of the hero, which is the reference for every other picture."""
    return SHEET.format(figures=figures(book), look=_look(book))


def prompt(book: Book, picture: str) -> str:
    """The prompt for a picture of a spread."""
    return SPREAD.format(figures=figures(book), picture=picture, look=_look(book))


def figures(book: Book) -> str:
    """The descriptions of the characters: from the book's plan or, without a plan, from what the book's owner wrote."""
    return "\n".join(f"- {each}" for each in cast(book))[:MAX_SHEET_CHARACTERS]


def cast(book: Book) -> tuple[str, ...]:
    """For each character of the book a text "name: look", the hero first."""
    unknown = {"name": "The hero", "description": f"of “{book.title}”"}
    found = context.entries(book.bible, "people") or book.characters or [unknown]
    return tuple(f"{each.get('name', '')}: {each.get('description', '')}".strip(": ") for each in found)


def _look(book: Book) -> str:
    voice = book.bible.get("voice")
    return LOOK.format(ages=book.age_range, voice=voice if isinstance(voice, str) else "")
