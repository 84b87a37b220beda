"""What must hold once the faults are over: the invariants of runs, checked in the database and the model."""

from __future__ import annotations

from collections import Counter

from tests.sim import recorder
from tests.sim.author import SimulatedAuthor
from tests.sim.nemesis import Nemesis
from tests.sim.postgres import Postgres
from tests.sim.process import SimulatedProcess
from tests.sim.provider import PARTS, ScriptedProvider

# Each query finds violations.
INVARIANTS = {
    "a run is still active": "SELECT id, status, owner, call_started_at FROM run WHERE status IN ('queued', 'running')",
    "two runs of an account are running": """
        SELECT account_id FROM run WHERE status = 'running' GROUP BY 1 HAVING count(*) > 1""",
    "two runs of a book are active": """
        SELECT book_id FROM run WHERE status IN ('queued', 'running', 'paused') GROUP BY 1 HAVING count(*) > 1""",
    "a completed run was not paid for, or another was": """
        SELECT r.id, r.status, c.run_id FROM run r FULL JOIN consumption c ON c.run_id = r.id
         WHERE (r.status = 'completed') IS DISTINCT FROM (c.run_id IS NOT NULL)""",
    "the period counts other books than were paid for": """
        SELECT u.account_id, u.books_created FROM usage_period u
         WHERE u.books_created <> (SELECT count(*) FROM consumption c WHERE c.account_id = u.account_id)""",
    "more is used and held than the plan grants": """
        SELECT u.account_id FROM usage_period u JOIN subscription s USING (account_id) JOIN plan p ON p.id = s.plan_id
         WHERE u.books_created
               + (SELECT count(*) FROM hold h WHERE h.account_id = u.account_id AND h.kept_until IS NULL)
               > (p.features ->> 'books_per_month')::int""",
    "an active run has no hold": """
        SELECT id FROM run r WHERE status IN ('queued', 'running', 'paused')
           AND NOT EXISTS (SELECT FROM hold h WHERE h.run_id = r.id)""",
    "a run that is over holds something": """
        SELECT r.id, r.status FROM run r JOIN hold h ON h.run_id = r.id
         WHERE r.status NOT IN ('queued', 'running', 'paused')""",
    "a completed book lacks a chapter": """
        SELECT r.id FROM run r JOIN chapter c USING (book_id)
         WHERE r.status = 'completed' AND c.content = '' AND c.content_version = 0
           AND NOT EXISTS (SELECT FROM run n WHERE n.book_id = r.book_id AND n.queue_seq > r.queue_seq)
           AND NOT EXISTS (SELECT FROM book b WHERE b.id = r.book_id AND b.outlines_made > 0)""",
    "two chapters have one number": "SELECT book_id FROM chapter GROUP BY book_id, chapter_number HAVING count(*) > 1",
    "a chapter is being written by nobody": """
        SELECT c.id FROM chapter c WHERE c.status = 'writing'
           AND NOT EXISTS (SELECT FROM run r
                            WHERE r.book_id = c.book_id AND r.status IN ('queued', 'running', 'paused'))""",
    "a book's status is not its run's": """
        SELECT b.id, b.status, r.status FROM book b
          JOIN LATERAL (SELECT status FROM run r WHERE r.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r ON true
         WHERE b.status <> CASE r.status WHEN 'completed' THEN 'completed' WHEN 'stopped' THEN 'outline'
                                         WHEN 'error' THEN 'outline' ELSE 'generating' END
           AND NOT (r.status = 'completed' AND b.status = 'outline'
                    AND EXISTS (SELECT FROM chapter c WHERE c.book_id = b.id AND c.content = ''))""",
    "a stopped run that wrote has given its hold back": """
        SELECT r.id FROM run r WHERE r.status = 'stopped' AND r.written > 0
           AND NOT EXISTS (SELECT FROM hold h WHERE h.book_id = r.book_id)
           AND NOT EXISTS (SELECT FROM run n WHERE n.book_id = r.book_id AND n.queue_seq > r.queue_seq)""",
    "a job is still under way": "SELECT book_id, kind, owner FROM book_job JOIN process ON boot_id = owner",
    "a report is still to be made": "SELECT id, status, owner FROM report WHERE status IN ('pending', 'running')",
    "other proofreading checks are counted than reports were made": """
        SELECT u.account_id, u.proofreading_checks_used FROM usage_period u
         WHERE u.proofreading_checks_used
               <> (SELECT count(*) FROM report r WHERE r.account_id = u.account_id AND r.status = 'completed')""",
    "a production took no use of its add-on, or another run did": """
        SELECT r.id, r.mode, r.status, u.used_at FROM run r LEFT JOIN addon_use u ON u.run_id = r.id
         WHERE r.status = 'completed' AND (r.mode = 'automated') <> (u.used_at IS NOT NULL)
            OR r.status <> 'completed' AND u.used_at IS NOT NULL""",
    "a production was completed before its files": """
        SELECT id, phase FROM run WHERE status = 'completed' AND mode = 'automated' AND phase <> 'files'""",
    "a run of which replies are stored is over for good": """
        SELECT DISTINCT s.run_id, r.status FROM step s JOIN run r ON r.id = s.run_id
         WHERE r.status = 'completed'
            OR r.status = 'stopped' AND s.chapter_number IS DISTINCT FROM r.current_chapter""",
    "a stored reply was not entered in the ledger": """
        SELECT s.run_id FROM step s WHERE s.run_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM model_call m WHERE m.run_id = s.run_id OR m.book_id = s.book_id)""",
    "more words are counted than were written": """
        SELECT u.account_id FROM usage_period u
         WHERE u.words_generated > (SELECT sum(words_written + draft_words + words_lost)
                                        FROM run r WHERE r.account_id = u.account_id)
                                   + 4 * u.ai_edits_used""",
}
FAILURES = "SELECT id, book_id, failure ->> 'code', crash_count FROM run WHERE status = 'error'"
WRITTEN_OTHERWISE = """
    SELECT id, book_id, written, total FROM run
     WHERE written > total OR status = 'completed' AND mode = 'full' AND written < total
"""
ENTERED = "SELECT output_tokens, count(*) FROM model_call GROUP BY 1"
CHAPTER = "SELECT content FROM chapter WHERE id = $1"
REVISION = "SELECT 1 FROM chapter_revision WHERE chapter_id = $1 AND content = $2"
QUARANTINED_FROM = 3  # crashes of its process


def judge(
    postgres: Postgres,
    provider: ScriptedProvider,
    authors: list[SimulatedAuthor],
    nemesis: Nemesis,
    processes: list[SimulatedProcess],
) -> list[str]:
    """The violations, as sentences."""
    found = [f"{what}: {rows[:3]}" for what, sql in INVARIANTS.items() if (rows := postgres.rows(sql))]
    found += [f"run of book {book}: {what}" for what, book in postgres.rows(recorder.BREACHES)]
    found += _charges(postgres, nemesis)
    found += _failures(postgres, provider, nemesis)
    found += _ledger(postgres, provider)
    found += _written(postgres, set[int]().union(*(author.edited for author in authors)))
    found += _waste(provider, nemesis, sum((author.cleared for author in authors), Counter()))
    for author in authors:
        found += author.findings + _words(postgres, provider, author, nemesis)
    found += [f"{process.name}: {crash}" for process in processes for crash in process.crashes]
    return found


def _charges(postgres: Postgres, nemesis: Nemesis) -> list[str]:
    """A book is charged only for crashes that it may have caused."""
    return [
        f"the run of book {book} was charged with the end of process {pid}, which had said that it would end"
        for book, pid in postgres.rows(recorder.CHARGED)
        if int(pid or 0) not in nemesis.doubtful
    ]


def _failures(postgres: Postgres, provider: ScriptedProvider, nemesis: Nemesis) -> list[str]:
    """An error has a cause: a failing model, or crashed processes."""
    found = []
    for run_id, book, code, crashes in postgres.rows(FAILURES):
        caused = {
            "UPSTREAM_AI_ERROR": int(book or 0) in provider.failed_books,
            "quarantined": nemesis.killed[int(book or 0)] >= QUARANTINED_FROM,
        }
        if not caused.get(code or "", False):
            found.append(f"run {run_id} of book {book} ended as {code} without a cause, {crashes} crashes")
    return found


def _ledger(postgres: Postgres, provider: ScriptedProvider) -> list[str]:
    """Usage that a process received is recorded once. A process that crashed since then may have lost it."""
    entered = Counter({int(number or 0): int(count or 0) for number, count in postgres.rows(ENTERED)})
    found = []
    for call in provider.calls:
        times = entered[call.number]
        if times > 1:
            found.append(f"reply {call.number} of book {call.book} is entered {times} times")
        if call.paid and not times and not call.process.dead:
            found.append(f"call {call.number} of book {call.book}, chapter {call.chapter} was never entered")
        if times and not call.paid:
            found.append(f"call {call.number} of book {call.book} is entered, and used nothing")
    return found


def _written(postgres: Postgres, edited: set[int]) -> list[str]:
    """Where nobody else has changed a book, a run writes each chapter once and replaces none of its own."""
    rows = postgres.rows(WRITTEN_OTHERWISE)
    return [f"run {run_id} of book {book} wrote {n} chapters of {total}" for run_id, book, n, total in rows
            if int(book or 0) not in edited]  # fmt: skip


def _waste(provider: ScriptedProvider, nemesis: Nemesis, cleared: Counter[int]) -> list[str]:
    """A request is repeated only after a failure, for a fault that hit the book, or for an emptied chapter."""
    asked = Counter(call.key for call in provider.calls if call.outcome != "failed")
    wasted: Counter[int] = Counter()
    for call in {call.key: call for call in provider.calls}.values():
        wasted[call.book] += max(0, asked[call.key] - 1)
    return [
        f"{count} calls of book {book} were repeated, and {nemesis.hits[book]} faults hit it"
        for book, count in wasted.items()
        if count > nemesis.hits[book] + nemesis.claimed_around + PARTS * cleared[book]
    ]


def _words(postgres: Postgres, provider: ScriptedProvider, author: SimulatedAuthor, nemesis: Nemesis) -> list[str]:
    """The author's texts stay unless someone who had read them asked for a rewrite, which keeps them as revisions."""
    found = []
    for chapter, words in author.words.items():
        rows = postgres.rows(CHAPTER, chapter)
        read = words.text in provider.seen[words.book, words.number]
        if rows and words.text and rows[0][0] != words.text and not read:
            found.append(f"chapter {chapter} of book {words.book}: {words.text!r} became {rows[0][0]!r}")
        elif rows and words.text and rows[0][0] != words.text and not postgres.rows(REVISION, chapter, words.text):
            found.append(f"chapter {chapter} of book {words.book}: {words.text!r} is in no revision")
    return found
