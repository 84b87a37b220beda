"""Editing: an author's changes to a book, its outline and its chapters.

Each function is one transaction on the given connection. Like every transaction of the service, it locks rows in a
fixed order, so that transactions never deadlock. A run is the writing of a book; an account has one slot for runs.

    rank  rows                            locked by
    1     the account                     `addresses.lock`, if its address or its tokens change
    2     the account's slot for runs     `slots.lock`: while it is held, no run is accepted and none ends
    3     the account's usage period      `subscriptions.lock`, before anything is counted, reserved or spent
    4     the book's newest run           `book_state.lock`, which locks the rows of ranks 2 to 5
    5     the book                        `books.lock`, or `books.lock_against_deletion` if it may change meanwhile
    6     the book's chapters, in order   `chapters.lock_of_book`; a single chapter: `chapters.lock`
    7     the book's proofreading report  `reports.lock_owned`
    8     the account's storage           `storage.lock`, the last step if an account's texts grow

A transaction may skip ranks. Once it holds a lock of some rank, it never takes its first lock of a lower rank. But it
may lock more rows of a rank in which it already holds a lock. For example, the transaction that ends a run starts the
account's next queued run as its last step.

- Rank 3 is a lock on the subscription's row, because the usage period has no row until something is counted.
- An INSERT also locks the rows that it refers to, so it conflicts with their deletion. Therefore a transaction that
  deletes a book first locks its runs and the book, and one that writes rows of a report first locks the book.
- The parts (`WITH`) of one statement run in no fixed order. To make one part lock after another, let it read a row
  that the other part returns.
- A statement that claims free rows (`reports.claim`, `ownership.claim`) skips locked rows instead of waiting.

`tests/store/test_locks.py` checks the statements, and `tests/locks.py` the transactions of every test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bookgen import threads
from bookgen.billing.quota import Quota
from bookgen.billing.storage import has_unlimited_storage, require_stored
from bookgen.errors import Conflict, GenerationInProgress, InvalidInput, busy_with, must_exist
from bookgen.models import Book, BookKind, BookStatus, Chapter, RevisionOrigin, Run, RunStatus
from bookgen.services.revised_outline import RevisedChapter, revised_chapters
from bookgen.store import (
    book_state,
    books,
    chapters,
    jobs,
    outlines,
    revisions,
    runs,
    slots,
    storage,
)
from bookgen.store.chapters import SavedChapter
from bookgen.words import PIECE, count_words

if TYPE_CHECKING:
    from asyncpg import Connection

MAX_PLAN_SCENES = MAX_PLAN_ENTRIES = 50  # of a chapter's plan
DEFAULT_CHAPTERS, WORDS_A_CHAPTER = 10, 50
BOOK_CHANGED = "The book has changed since you read it. Read it again (GET /books/{id}/), then send your change."
CHANGED = "The chapter has changed since you read it. Read it again (GET /chapters/{id}/), then send your change."
ONLY_CHILDRENS = (
    "Only children's books have this field. Leave it out, or create a children's book (POST /books/childrens/)."
)
_OF_CHILDRENS = frozenset(("theme", "characters"))


async def create_book(connection: Connection, quota: Quota, account_id: int, fields: Mapping[str, Any]) -> Book:
    """Create a draft. Without `chapter_count` in `fields`, it gets ten chapters, or one per 50 words if that is less.

    Raises InvalidInput if the book would have fewer words than chapters; BookQuotaExceeded or PlanUpgradeRequired if
    neither the plan's allowance nor a credit covers the book; PlanUpgradeRequired also if the account has no storage
    for the book.
    """
    words = fields["target_word_count"]
    chapter_count = fields.get("chapter_count") or max(1, min(DEFAULT_CHAPTERS, words // WORDS_A_CHAPTER))
    require_word_each(words, chapter_count)
    async with connection.transaction():
        await quota.require_book(connection, account_id, words)
        book = await books.create(connection, account_id, {**fields, "chapter_count": chapter_count})
        await require_stored(connection, quota, account_id)
    return book


def require_word_each(words: int, chapter_count: int, field: str = "target_word_count") -> None:
    """Raise InvalidInput, about `field`, if a book would have fewer words than chapters."""
    if words < chapter_count:
        raise InvalidInput(
            **{field: [f"A book needs at least one word per chapter (got {words} words for {chapter_count} chapters)."]}
        )


async def change_book(
    connection: Connection,
    quota: Quota,
    account_id: int,
    book_id: int,
    changes: Mapping[str, Any],
    read: str | None = None,
) -> None:
    """Change fields of the book. Fields that already have the new value are ignored.

    A new `target_word_count` is distributed over the unwritten chapters.

    `read`: the version that the caller has read. If the book has another version now, raises Conflict.

    Raises:

    - NotFound if the account has no such book.
    - Conflict if the number of chapters would change although the book has an outline.
    - PlanUpgradeRequired if neither the plan nor a credit covers the new length, or the account has no storage left.
    - InvalidInput for fields that only children's books have, and for fewer words than chapters.
    - GenerationInProgress if the theme or characters would change while the book is being written or waits for it.
    """
    async with connection.transaction():
        found = must_exist(await books.find(connection, account_id, book_id))
        changes = {name: value for name, value in changes.items() if value != getattr(found, name)}
        if not changes:
            return
        if of_childrens := sorted(_OF_CHILDRENS & changes.keys()):
            if found.kind is not BookKind.CHILDRENS:
                raise InvalidInput(**{name: [ONLY_CHILDRENS] for name in of_childrens})
            state = must_exist(await book_state.lock(connection, account_id, book_id, call_seconds=0))
            if state.run and state.run.status in (RunStatus.QUEUED, RunStatus.RUNNING):
                raise GenerationInProgress
        elif "target_word_count" in changes:
            await slots.lock(connection, account_id)
        book = must_exist(await books.lock(connection, account_id, book_id))
        existing = await chapters.lock_of_book(connection, book_id)
        await _require_version(connection, account_id, book_id, read)
        if existing and changes.get("chapter_count", book.chapter_count) != book.chapter_count:
            raise Conflict(
                "This book already has an outline. Add or remove chapters with POST /books/{id}/update-outline/."
            )
        target = changes.get("target_word_count", book.target_word_count)
        chapter_count = len(existing) or changes.get("chapter_count", book.chapter_count)
        if target != book.target_word_count:
            require_word_each(target, chapter_count)
        elif chapter_count != book.chapter_count:
            require_word_each(target, chapter_count, "chapter_count")
        if target > book.target_word_count:
            await quota.require_words(connection, account_id, book_id, target)
        if existing and target != book.target_word_count:
            await chapters.scale_word_targets(connection, book_id, target)
        await books.save(connection, book, changes)
        if _bytes(changes) > _bytes({name: getattr(book, name) for name in changes}):
            await require_stored(connection, quota, account_id)


async def save_chapter(
    connection: Connection,
    quota: Quota,
    account_id: int,
    chapter_id: int,
    changes: Mapping[str, Any],
    origin: RevisionOrigin = RevisionOrigin.EDITOR,
    read: Chapter | None = None,
    writer: str | None = None,
    words: int | None = None,
) -> SavedChapter:
    """Change fields of the chapter. The old text becomes a revision if it is replaced. A blank text counts as no text.

    `origin`: what made the change. `writer`: the model that wrote the new text, if known. `words`: the number of words
    of the new text, if the caller has counted them.

    Raises NotFound; Conflict if the chapter is not the same as in `read`; PlanUpgradeRequired if the chapter's new word
    target makes the book too long, or if the new text exceeds the plan's storage.
    """
    if changes.get("content", "").isspace():
        changes = {**changes, "content": ""}
    if words is None:
        words = await _count_words(changes.get("content", ""))
    told = account_id, chapter_id, changes, words, origin
    alone = read is None and "target_word_count" not in changes  # nothing else to read if storage is unlimited
    if alone and (plan := quota.plan_of_all):
        async with connection.transaction():
            await chapters.lock_its_book(connection, account_id, chapter_id)
            saved = await chapters.save(connection, *told, unbounded=plan, writer=writer)
        if saved:
            return saved
    unbounded = await has_unlimited_storage(connection, quota, account_id)
    async with connection.transaction():
        if "target_word_count" in changes:
            await slots.lock(connection, account_id)
        await chapters.lock_its_book(connection, account_id, chapter_id)
        if read is not None and await chapters.lock(connection, account_id, chapter_id) not in (read, None):
            raise Conflict(CHANGED)
        saved = must_exist(await chapters.save(connection, *told, writer=writer))
        if "target_word_count" in changes:
            await _require_budgets(connection, quota, account_id, saved.chapter.book_id)
        if saved.grown and not unbounded:
            await require_stored(connection, quota, account_id)
    return saved


async def restore_revision(
    connection: Connection, quota: Quota, account_id: int, chapter_id: int, revision_id: int
) -> SavedChapter:
    """Restore a revision: a former text, or a title and summary. The replaced text becomes a revision.

    Raises NotFound.
    """
    revision = must_exist(
        await revisions.find(connection, account_id, chapter_id, revision_id), "revision of this chapter"
    )
    changes, told = {"content": revision.content}, (connection, quota, account_id, chapter_id)
    if revision.title is not None:
        changes = {"title": revision.title, "summary": revision.summary}
    return await save_chapter(*told, changes, RevisionOrigin.RESTORE, writer=revision.writer)


async def revise_outline(
    connection: Connection,
    quota: Quota,
    account_id: int,
    book_id: int,
    entries: Sequence[Mapping[str, Any]],
    *,
    replace: bool,
    read: str | None = None,
) -> None:
    """Change and add chapters as in `entries` (see `revised_chapters`). With `replace`, also remove and reorder them.

    `read`: the version of the book that the caller has read. If the book has another version now, raises Conflict.

    Raises NotFound; Conflict while the book has a job, or for chapters that a paused run has written;
    GenerationInProgress while a run is queued or running; InvalidInput as in `revised_chapters`; PlanUpgradeRequired if
    the outline makes the book too long or exceeds the plan's storage.
    """
    async with connection.transaction():
        state = must_exist(await book_state.lock(connection, account_id, book_id, call_seconds=0))
        if state.job:
            raise busy_with(state.job)
        if state.run and state.run.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            raise GenerationInProgress
        book = must_exist(await books.lock(connection, account_id, book_id))
        existing = await chapters.lock_of_book(connection, book_id)
        await _require_version(connection, account_id, book_id, read)
        revised = revised_chapters(book, existing, entries, replace=replace)
        if state.run and state.run.status is RunStatus.PAUSED:
            _protect_written(existing, revised, state.run)
        await jobs.cancel(connection, book_id)
        await _save_outline(connection, book, revised)
        await _require_budgets(connection, quota, account_id, book_id)
        if _described(revised) > _described(existing):
            await require_stored(connection, quota, account_id)


async def _require_version(connection: Connection, account_id: int, book_id: int, read: str | None) -> None:
    """Raise Conflict if the book no longer has the version `read`. The caller has locked the book."""
    if read is None:
        return
    found = await books.version(connection, account_id, book_id)
    if found is None or found.version != read:
        raise Conflict(BOOK_CHANGED)


async def _require_budgets(connection: Connection, quota: Quota, account_id: int, book_id: int) -> None:
    """Raise PlanUpgradeRequired if the word targets of the chapters add up to more words than the account may use."""
    words = await chapters.words_beyond_target(connection, book_id)
    if words is not None:
        await quota.require_words(connection, account_id, book_id, words)


def _bytes(fields: Mapping[str, Any]) -> int:
    known = [value for value in fields.values() if isinstance(value, str | dict)]
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in known]
    return sum(len(text.encode()) for text in texts)


def _described(outline: Iterable[Chapter | RevisedChapter]) -> int:
    told = [{"title": each.title, "summary": each.summary, "plan": dict(each.plan)} for each in outline]
    return sum(_bytes(each) + storage.ROW for each in told)


async def _count_words(text: str) -> int:
    """Count words, in the compute thread if the text is long."""
    return count_words(text) if len(text) <= PIECE else await threads.compute(count_words, text)


def _protect_written(existing: Sequence[Chapter], revised: Sequence[RevisedChapter], run: Run) -> None:
    """Raise Conflict if `revised` changes a chapter that the paused run has written or is finishing."""
    left_alone = {
        each.chapter.id
        for number, each in enumerate(revised, 1)
        if each.chapter and each.as_before and each.chapter.chapter_number == number
    }
    for chapter in existing:
        in_flight = run.call_started_at is not None and chapter.chapter_number == run.current_chapter
        if (chapter.content or in_flight) and chapter.id not in left_alone:
            state = "already written" if chapter.content else "being finished"
            raise Conflict(
                f"Chapter {chapter.chapter_number} is {state}. Only unwritten chapters can "
                "change now. Stop the run first (POST /books/{id}/stop-generation/)."
            )


async def _save_outline(connection: Connection, book: Book, revised: Sequence[RevisedChapter]) -> None:
    kept = {each.chapter.id: number for number, each in enumerate(revised, 1) if each.chapter}
    await outlines.remove_others(connection, book.id, list(kept))
    await outlines.renumber(connection, book.id, kept)
    for number, each in enumerate(revised, 1):
        told = (each.title, each.summary, each.target_word_count, each.plan)
        if each.chapter is None:
            await outlines.add_chapter(connection, book.id, number, *told)
        elif not each.as_before:
            await outlines.describe_chapter(connection, each.chapter.id, *told)
    if not revised:
        return
    unwritten = any(each.chapter is None or not each.chapter.content for each in revised)
    await books.save(connection, book, {"chapter_count": len(revised), "status": _status(book.status, unwritten)})
    await runs.recount(connection, book.id, len(revised))


def _status(status: BookStatus, unwritten: bool) -> BookStatus:
    if status is BookStatus.DRAFT or (status is BookStatus.COMPLETED and unwritten):
        return BookStatus.OUTLINE
    return status
