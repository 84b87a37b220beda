"""The story bible: what has been decided about a book, as one typed object. Every chapter is written from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import structlog

from bookgen.billing.quota import Quota
from bookgen.billing.storage import require_stored
from bookgen.errors import Conflict, Unavailable, must_exist
from bookgen.models import Book, BookKind, StoryKind, story_kind
from bookgen.store import books, chapters, facts
from bookgen.store.outages import through_outages
from bookgen.threads import compute
from bookgen.writing.facts.corrections import corrected_by_bible, with_changes
from bookgen.writing.facts.findings import bible_notes

if TYPE_CHECKING:
    from asyncpg import Connection, Pool

OUTAGE_SECONDS = 3.0  # how long a request waits for the database to store findings; its change is stored already
CHANGED = (
    "The story bible has changed since you read it. Read it again (GET /books/{id}/bible/), then send your change."
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoryBible:
    """What has been decided about a book. An undecided field is an empty text, an empty list or None.

    Each entry of `people`, `places` and `terms` is a mapping with a `name`. `authored`: the names of the fields that
    the author has written.
    """

    kind: StoryKind | None
    premise: str
    voice: str
    voice_sample: str
    arc: list[str]
    people: list[dict[str, str]]
    places: list[dict[str, str]]
    terms: list[dict[str, str]]
    motifs: list[str]
    avoid: list[str]
    material: str
    sources: list[str]
    outcome: str
    authored: list[str]


FIELDS = tuple(field.name for field in fields(StoryBible) if field.name != "authored")


def bible_of(book: Book) -> StoryBible:
    """The story bible of the book. Values of a wrong type, which models and older versions wrote, are left out."""
    settled = book.bible
    return StoryBible(
        kind=_kind(book),
        premise=_text(settled.get("premise")),
        voice=_text(settled.get("voice")),
        voice_sample=_text(settled.get("voice_sample")),
        arc=_texts(settled.get("arc")),
        people=_entries(settled.get("people")),
        places=_entries(settled.get("places")),
        terms=_entries(settled.get("terms")),
        motifs=_texts(settled.get("motifs")),
        avoid=_texts(settled.get("avoid")),
        material=_text(settled.get("material")),
        sources=_texts(settled.get("sources")),
        outcome=_text(settled.get("outcome")),
        authored=[name for name in FIELDS if name in book.authored_bible],
    )


def _kind(book: Book) -> StoryKind | None:
    """The kind of story: from the bible, otherwise from the genre; None if neither says."""
    found = story_kind(book) or ("children" if book.kind is BookKind.CHILDRENS else "")
    return StoryKind(found) if found else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _entries(value: object) -> list[dict[str, str]]:
    entries = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
    return [
        {key: text for key, text in entry.items() if isinstance(text, str) and text}
        for entry in entries
        if _text(entry.get("name"))
    ]


async def change(
    pool: Pool,
    quota: Quota,
    account_id: int,
    book_id: int,
    sent: Mapping[str, Any],
    is_as_read: Callable[[Book], bool],
) -> Book:
    """Change the author's entries in the story bible, and correct facts that contradict them, in one transaction.

    `sent`: fields from the request. `is_as_read`: whether the book still has the version that the author has read.
    Returns the book.

    Afterwards, `note_deviations` stores where the chapters contradict the bible. If the database fails during this, the
    author's change stays saved, and the next change makes up for it.

    Raises NotFound, PlanUpgradeRequired, and Conflict if the book has changed since it was read.
    """
    async with pool.acquire() as connection, connection.transaction():
        before = must_exist(await books.lock(connection, account_id, book_id))
        if not is_as_read(before):
            raise Conflict(CHANGED)
        changed = must_exist(await books.change_bible(connection, account_id, book_id, authors_changes(before, sent)))
        if len(str(changed.authored_bible)) > len(str(before.authored_bible)):
            await require_stored(connection, quota, account_id)
        await _correct_facts(connection, before, changed)
        if (changes := with_changes(before.bible_changes, before.bible, changed.bible)) != before.bible_changes:
            await books.keep_bible_changes(connection, book_id, changes)
            changed = replace(changed, bible_changes=changes)
    try:
        await through_outages(lambda: note_deviations(pool, account_id, changed), seconds=OUTAGE_SECONDS)
    except Unavailable as outage:
        log.warning(
            "bible_not_compared",
            book_id=book_id,
            reason=str(outage),
            what="The story bible was saved, but the chapters were not compared with it.",
        )
    return changed


# The fields of the book on which findings depend. Findings also depend on the texts: `chapters.note_bible` compares the
# versions of these.
COMPARED = ("bible", "authored_bible", "bible_changes")


async def note_deviations(pool: Pool, account_id: int, book: Book) -> None:
    """Find where each written chapter contradicts the story bible. Replaces the stored findings of the last comparison.

    The texts are compared without a lock or a connection. If the bible changes in the meantime, nothing is stored,
    because the change itself starts another comparison.
    """
    written = [each for each in await chapters.of_book(pool, book.id) if each.content.strip()]
    noted = await facts.of_book(pool, book.id)
    found = await compute(bible_notes, book, noted, written)
    notes = [
        {"chapter_id": each.id, "seen": each.content_version, "notes": listed}
        for each, listed in zip(written, found, strict=True)
    ]
    async with pool.acquire() as connection, connection.transaction():
        present = await books.lock(connection, account_id, book.id)
        if present and all(getattr(present, name) == getattr(book, name) for name in COMPARED):
            await chapters.note_bible(connection, book.id, notes)


async def _correct_facts(connection: Connection, before: Book, changed: Book) -> None:
    noted = await facts.of_book(connection, changed.id)
    for fact, value in corrected_by_bible(before.bible, changed.bible, noted):
        await facts.decide(connection, fact.id, value)


def authors_changes(book: Book, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `sent` whose values differ from the book's story bible, in the stored form.

    The value None means that the author has emptied the field, so its entry is removed.
    """
    stored = {name: _stored(value) for name, value in sent.items()}
    present = bible_of(book)
    return {name: value for name, value in stored.items() if value != (getattr(present, name) or None)}


def _stored(value: Any) -> Any:
    if isinstance(value, list):
        value = [_without_blanks(item) if isinstance(item, Mapping) else item for item in value]
    return value or None


def _without_blanks(entry: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in entry.items() if text}
