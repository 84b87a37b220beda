"""The progress of a run, as shown to the book's author. A run is the writing of a book."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.models import Run, RunStatus
from bookgen.store.database import DB
from bookgen.store.rows import mapper
from bookgen.store.runs import run_of
from bookgen.store.writers import may_write, takes_work


@dataclass(frozen=True, slots=True)
class ChapterCounts:
    """Counts of the chapters of a run's book, and of their words.

    `chapters`: all chapters. `texts`: the chapters with a text. `kept`: the chapters with a text that the run will not
    write again. `new`: the chapters written since the run began. `rewrites`: whether the run still has to write a
    chapter again. `drafting`: whether the chapter that is being written has no text yet.
    `words`: the words of all texts. `book_words`: the word target of the book.
    `words_left`: the sum of the word targets of the chapters that the run still has to write.
    `chapters_ahead`, `words_ahead`: how many chapters and words the account's runs before this one still have to write;
    0 unless this run is queued.
    `findings`: how many problems the automatic checks found in the texts and did not correct.
    """

    chapters: int = 0
    texts: int = 0
    kept: int = 0
    new: int = 0
    words: int = 0
    rewrites: bool = False
    drafting: bool = False
    words_left: int = 0
    book_words: int = 0
    words_ahead: int = 0
    chapters_ahead: int = 0
    findings: int = 0


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run as shown to the book's author. `place`: the run's place in the account's queue, if it is queued.

    `title`: the title of the chapter being written. `outline`: the chapters as a JSON array. `awaits_operator`: the
    database is a restored copy, and the operator has not let its runs continue yet. `unattended`: no live process
    writes runs. `has_writer`: some live process may write this run. If there is none, and the run has no owner, the
    run waits.
    """

    run: Run
    place: int
    title: str | None
    counts: ChapterCounts
    outline: str = "[]"
    awaits_operator: bool = False
    unattended: bool = False
    has_writer: bool = False
    content_language: str = "en"

    @property
    def done(self) -> int:
        """How many chapters are finished: those that have a text and that the run will not write again.

        A stopped or completed run writes nothing again, so all chapters with a text count.
        """
        over = self.run.status in (RunStatus.STOPPED, RunStatus.COMPLETED)
        return self.counts.texts if over else self.counts.kept


COUNTS = """
           count(*) AS chapters, count(*) FILTER (WHERE c.content <> '') AS texts,
           count(*) FILTER (WHERE c.content <> '' AND c.rewrite_run IS DISTINCT FROM r.id) AS kept,
           count(*) FILTER (WHERE c.written_at >= r.started_at) AS new,
           coalesce(sum(c.word_count), 0)::bigint AS words,
           coalesce(sum(c.target_word_count) FILTER (WHERE c.content = '' OR c.rewrite_run = r.id), 0)::bigint
               AS words_left,
           coalesce(bool_or(c.rewrite_run = r.id), false) AS rewrites,
           coalesce(bool_or(c.chapter_number = r.current_chapter AND c.content = ''), false) AS drafting,
           coalesce(sum((SELECT count(*) FROM jsonb_array_elements(c.quality) f WHERE NOT f ? 'before')), 0)::bigint
               AS findings,
           max(c.title) FILTER (WHERE c.chapter_number = r.current_chapter) AS title
"""

_counts = mapper(ChapterCounts)

# What the runs that go before a queued one still have to write.
AHEAD = """
      JOIN book k ON k.id = r.book_id
     CROSS JOIN LATERAL (
           SELECT count(*) AS chapters_ahead, coalesce(sum(a.target_word_count), 0)::bigint AS words_ahead
             FROM run q
             JOIN chapter a ON a.book_id = q.book_id AND (a.content = '' OR a.rewrite_run = q.id)
            WHERE r.status = 'queued' AND q.account_id = r.account_id
              AND (q.status = 'running' OR q.status = 'queued' AND q.queue_seq < r.queue_seq)) h
"""

AWAITS = f"""EXISTS (SELECT FROM restored_copy WHERE continued_at IS NULL) AS awaits_operator,
           NOT EXISTS (SELECT FROM process p WHERE {takes_work("p")}) AS unattended,
           EXISTS (SELECT FROM process p WHERE {takes_work("p")} AND {may_write("p")}) AS has_writer"""

# The outline's JSON is built as text, which takes half the time of PostgreSQL's JSON functions.
OF_BOOK = f"""
    SELECT r.*, o.*, h.*, k.target_word_count AS book_words, k.content_language,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           {AWAITS}
      FROM (SELECT * FROM run WHERE account_id = $1 AND book_id = $2 ORDER BY queue_seq DESC LIMIT 1) r
     CROSS JOIN LATERAL (
           SELECT concat('[', string_agg(
                      concat('{{"id":', c.id, ',"chapter_number":', c.chapter_number, ',"title":', to_json(c.title),
                             ',"has_content":', (c.content <> '')::text, ',"word_count":', c.word_count,
                             ',"is_new":', coalesce(c.written_at >= r.started_at, false)::text, '}}'),
                      ',' ORDER BY c.chapter_number), ']') AS outline,
                  {COUNTS}
             FROM chapter c WHERE c.book_id = r.book_id) o
      {AHEAD}
"""


async def of_book(db: DB, account_id: int, book_id: int) -> RunProgress | None:
    """The progress of the book's newest run. None if it has no run or is not the account's."""
    row = await db.fetchrow(OF_BOOK, account_id, book_id)
    if row is None:
        return None
    return RunProgress(
        run_of(row),
        row["place"],
        row["title"],
        _counts(row),
        row["outline"],
        row["awaits_operator"],
        row["unattended"],
        row["has_writer"],
        row["content_language"],
    )


OF_ACCOUNT = f"""
    SELECT r.*, o.*, h.*, k.target_word_count AS book_words, k.content_language,
           (SELECT count(*) FROM run q
             WHERE q.account_id = r.account_id AND q.status = 'queued' AND q.queue_seq <= r.queue_seq) AS place,
           {AWAITS}
      FROM book b
     CROSS JOIN LATERAL (SELECT * FROM run WHERE run.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r
     CROSS JOIN LATERAL (SELECT {COUNTS} FROM chapter c WHERE c.book_id = r.book_id) o
      {AHEAD}
     WHERE b.account_id = $1
"""


async def of_account(db: DB, account_id: int) -> dict[int, RunProgress]:
    """The progress of the newest run of each of the account's books, by book id, without outlines."""
    rows = await db.fetch(OF_ACCOUNT, account_id)
    return {
        row["book_id"]: RunProgress(
            run_of(row),
            row["place"],
            row["title"],
            _counts(row),
            awaits_operator=row["awaits_operator"],
            unattended=row["unattended"],
            has_writer=row["has_writer"],
            content_language=row["content_language"],
        )
        for row in rows
    }
