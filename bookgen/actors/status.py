"""GenerationStatus: a run as its owner sees it, cached in encoded form, and the requests that wait for a change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from random import uniform
from typing import Any

import asyncpg
import orjson

from bookgen.actors.actor import Key, now
from bookgen.actors.chapters_in_flight import ChaptersInFlight
from bookgen.actors.remaining import seconds_remaining
from bookgen.actors.resources import Resources
from bookgen.errors import NeverGenerated
from bookgen.models import Run, RunMode, RunPhase, RunStatus
from bookgen.providers.text import Outage, TextModel
from bookgen.store import progress
from bookgen.store.progress import RunProgress


class Change:
    """An event for a single waiting task. It takes less memory than asyncio.Event; thousands may wait."""

    __slots__ = ("_is_set", "_told")

    def __init__(self) -> None:
        self._is_set = False
        self._told: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._is_set = True
        if self._told is not None and not self._told.done():
            self._told.set_result(None)

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        if self._is_set:
            return
        self._told = asyncio.get_running_loop().create_future()
        try:
            await self._told
        finally:
            self._told = None


class Changes:
    """Wakes the tasks that wait for a change of a book."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[Change]] = {}

    @contextlib.contextmanager
    def of(self, book_id: int) -> Iterator[Change]:
        """An event that is set at every change of the book."""
        changed = Change()
        others = self._waiting.setdefault(book_id, set())
        others.add(changed)
        try:
            yield changed
        finally:
            others.remove(changed)
            if not others:
                del self._waiting[book_id]

    def tell(self, book_id: int) -> None:
        for changed in self._waiting.get(book_id, ()):
            changed.set()

    def tell_all(self) -> None:
        for book_id in self._waiting:
            self.tell(book_id)

    def __len__(self) -> int:
        """The number of waiting tasks."""
        return sum(map(len, self._waiting.values()))


# What a run does in the phases that write no chapter, and in which of them a text model is asked.
DOING = {
    RunPhase.OUTLINE: "drafting the outline",
    RunPhase.REVIEW: "reviewing the book",
    RunPhase.PROOFREADING: "proofreading the book",
    RunPhase.CORRECTIONS: "applying safe corrections",
    RunPhase.BLURB: "writing the blurb",
    RunPhase.COVER: "making the cover",
    RunPhase.FILES: "making the files",
}
BY_MODEL = (RunPhase.OUTLINE, RunPhase.CHAPTERS, RunPhase.REVIEW, RunPhase.PROOFREADING)


# The phases as the contract names them.
_RENAMED = {RunPhase.REVIEW: "proofreading", RunPhase.CORRECTIONS: "proofreading", RunPhase.BLURB: "cover"}
PHASES = {phase: _RENAMED.get(phase, phase.value) for phase in RunPhase}


def encode(
    report: RunProgress, words_in_flight: int = 0, outage: Outage | None = None, model: TextModel | None = None
) -> bytes:
    """The status as JSON. `words_in_flight`: the words of the unfinished chapter. `outage`: what its call waits for.

    `model`: the one that writes, for an estimate of the time before the first chapter is finished.
    """
    body = as_json(report, words_in_flight, outage, model)
    return orjson.dumps(body, option=orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS)


def as_json(
    report: RunProgress, words_in_flight: int = 0, outage: Outage | None = None, model: TextModel | None = None
) -> dict[str, Any]:
    run = report.run
    return {
        "generation_status": shown(run),
        "completed_chapters": report.done,
        "total_chapters": report.counts.chapters,
        "percentage": percentage(report),
        "status_message": message(report, outage),
        "task_id": str(run.id),
        "mode": run.mode,
        "phase": PHASES[run.phase],
        "queue_position": report.place if run.status is RunStatus.QUEUED else None,
        "current_chapter": run.current_chapter if run.status.active else None,
        "words_written": words_written(report, words_in_flight),
        "started_at": run.started_at,
        "updated_at": run.updated_at,
        "finished_at": run.finished_at,
        "estimated_seconds_remaining": seconds_remaining(report, model),
        "failure": run.failure,
        "outline": orjson.Fragment(report.outline),
    }


def words_written(report: RunProgress, words_in_flight: int = 0) -> int:
    """Words of all chapters, and of the unfinished parts of the chapter in flight."""
    run, counts = report.run, report.counts
    unfinished = counts.drafting and run.status not in (RunStatus.STOPPED, RunStatus.COMPLETED)
    return counts.words + (max(run.draft_words, words_in_flight) if unfinished else 0)


def shown(run: Run) -> str:
    """The state as the contract names it; a queued run is shown as running."""
    return RunStatus.RUNNING if run.status is RunStatus.QUEUED else run.status


def percentage(report: RunProgress) -> float:
    """Progress in percent of the chapters. In a production each other phase counts like one chapter."""
    run, done, total = report.run, report.done, report.counts.chapters
    if run.mode is RunMode.AUTOMATED and run.status is not RunStatus.COMPLETED:
        phases = list(RunPhase)
        over = phases.index(run.phase)
        done += over - (over > phases.index(RunPhase.CHAPTERS))
        total += len(phases) - 1
    return round(100 * done / total, 1) if total else 0.0


def message(report: RunProgress, outage: Outage | None = None) -> str:
    run, total = report.run, report.counts.chapters
    progress = f"{report.done} of {total} chapters"
    doing = DOING.get(run.phase)
    title = f": {report.title}" if report.title else ""
    match run.status:
        case RunStatus.QUEUED | RunStatus.RUNNING if report.awaits_operator:
            return (
                "This server was restored from a backup. The book continues when the operator lets its books continue. "
                f"{progress} finished."
            )
        case RunStatus.QUEUED | RunStatus.RUNNING if report.unattended:
            return (
                "Waiting: no process of this server writes books now. The book continues by itself when one runs "
                f"again. {progress} finished."
            )
        case RunStatus.QUEUED:
            return f"Waiting for another book of this account. Place {report.place} in the queue."
        case RunStatus.RUNNING if run.waits_for_writer and not report.has_writer:
            return (
                f"This book is being written by {run.writer}, which is not set up on this server now. "
                f"It continues by itself when the operator has set its key again. {progress} finished."
            )
        case RunStatus.RUNNING if run.call_started_at and outage and outage.by_operator:
            return (
                f"Waiting since {outage.since:%H:%M} UTC: the writing model {outage.reason}. "
                f"The operator has to look at it; the book continues by itself afterwards. {progress} finished."
            )
        case RunStatus.RUNNING if run.call_started_at and outage:
            return (
                f"Waiting for the model since {outage.since:%H:%M} UTC: it {outage.reason}. {progress} finished. "
                + ("The run goes on by itself." if outage.until is None else _asked_until(outage.until))
            )
        case RunStatus.RUNNING if doing:
            return f"{doing.capitalize()}.{_written(report)}"
        case RunStatus.RUNNING if run.call_started_at and run.current_chapter:
            return f"Writing chapter {run.current_chapter} of {total}{title}."
        case RunStatus.RUNNING:
            return f"Writing. {progress} finished."
        case RunStatus.PAUSED if doing:
            return f"Paused; still {doing}." if run.call_started_at else f"Paused before {doing}.{_written(report)}"
        case RunStatus.PAUSED if run.call_started_at and run.current_chapter:
            return f"Paused; finishing chapter {run.current_chapter}."
        case RunStatus.PAUSED:
            return f"Paused. {progress} finished."
        case RunStatus.STOPPED if report.counts.rewrites and report.done == total:
            return f"Stopped. {_rewritten(report)}"
        case RunStatus.STOPPED:
            return f"Stopped. {progress} finished."
        case RunStatus.COMPLETED if report.done < total:
            return _without_text(report)
        case RunStatus.COMPLETED if run.mode is RunMode.AUTOMATED:
            made = f"Completed. All {total} chapters are written, the cover and the files are ready. {run.remark}"
            return f"{made.rstrip()}{_worth_a_look(report)}"
        case RunStatus.COMPLETED:
            return f"Completed. All {total} chapters are written.{_worth_a_look(report)}"
        case RunStatus.ERROR if doing:
            return f"Failed while {doing}. {(run.failure or {}).get('message', '')}".rstrip()
        case RunStatus.ERROR:
            return f"Failed after {progress}. {(run.failure or {}).get('message', '')}".rstrip()


def _asked_until(until: datetime) -> str:
    return f"It is asked again every half a minute, until {until:%d %B %H:%M} UTC."


def _worth_a_look(report: RunProgress) -> str:
    """How many findings the quality gate has."""
    count = len(report.findings)
    return f" The quality notes have {count} {'finding' if count == 1 else 'findings'}." if count else ""


def _written(report: RunProgress) -> str:
    return f" All {report.done} chapters are written." if 0 < report.counts.chapters == report.done else ""


def _rewritten(report: RunProgress) -> str:
    """How many chapters a run that rewrites the whole book has written."""
    new, total = report.counts.new, report.counts.chapters
    if not new:
        return f"No chapter is new: all {total} have their former text."
    others = "the other one has its" if total - new == 1 else "the others have their"
    return f"{new} of {total} chapters {'is' if new == 1 else 'are'} new; {others} former text."


def _without_text(report: RunProgress) -> str:
    """How many chapters have lost their text since the run was completed."""
    texts, total = report.counts.texts, report.counts.chapters
    if not texts:
        return f"None of the {total} chapters has text. Generate to write {'it' if total == 1 else 'them'}."
    others = "the other one" if total - texts == 1 else f"the other {total - texts}"
    return f"{texts} of {total} chapters {'has' if texts == 1 else 'have'} text. Generate to write {others}."


FORGET_SECONDS = 60.0  # after the last time that it was asked for
# How often whoever waits for a change looks for one that was not told: in the outline or the queue, or by another
# process, which tells of commands but not of every chapter.
LOOK_SECONDS = 30.0
LOOK_SECONDS_AMONG_OTHERS = 1.0


@dataclass(slots=True, eq=False)
class Kept:
    """A cached status: as it was read, and encoded together with what only this process knows."""

    report: RunProgress | None = None
    words: int = 0
    outage: Outage | None = None
    body: bytes = b""
    asked_at: float = 0.0


class Statuses:
    """Caches encoded statuses of runs that only this process writes or restarts, until they change.

    Three events drop a cached status: the run advances (`changed`), the owner changes anything through this process
    (`account_changed`), or another process appears, which may change any run.
    """

    def __init__(self, pool: asyncpg.Pool, resources: Resources, chapters: ChaptersInFlight) -> None:
        self._pool = pool
        self._resources = resources
        self._chapters = chapters
        self._kept: dict[int, dict[int, Kept]] = {}  # by account, then by book
        self.changes = Changes()

    async def read(self, account_id: int, book_id: int) -> bytes:
        """The body of GenerationStatus. Raises NeverGenerated if the book never had a run."""
        return self.kept(account_id, book_id) or await self.read_anew(account_id, book_id)

    async def read_anew(self, account_id: int, book_id: int) -> bytes:
        """The body, read from the database, for the response to a change."""
        kept = self._kept.setdefault(account_id, {})[book_id] = Kept()
        try:
            found = await progress.of_book(self._pool, account_id, book_id)
            if found is None:
                raise NeverGenerated
            body = self._encoded(kept, found)
            if self._is_ours(found.run) and not found.unattended:
                kept.report = found  # of use only if nothing has changed since it was asked for
            return body
        finally:
            if not kept.report:
                self._drop(account_id, book_id, kept)

    def kept(self, account_id: int, book_id: int) -> bytes | None:
        """The cached body if it still matches the rows."""
        kept = self._kept.get(account_id, {}).get(book_id)
        return self._encoded(kept, kept.report) if kept and kept.report and self._is_ours(kept.report.run) else None

    def _encoded(self, kept: Kept, report: RunProgress) -> bytes:
        """The body, encoded again if there are more words or the model's availability has changed."""
        words, outage = self._chapters.words_in_flight(report.run), self._outage(report.run)
        if not kept.body or words != kept.words or outage != kept.outage:
            kept.words, kept.outage, kept.body = words, outage, encode(report, words, outage, self._resources.model)
        kept.asked_at = now()
        return kept.body

    def _outage(self, run: Run) -> Outage | None:
        """The outage that the run waits for: of its model, or what else its call waits for."""
        if run.phase is RunPhase.COVER or self._chapters.awaits_picture(run):
            return self._resources.outage_of_pictures
        if run.phase not in BY_MODEL:
            return None
        return self._resources.outage or self._chapters.wait(run)

    async def read_other(
        self, account_id: int, book_id: int, is_known: Callable[[bytes], bool], seconds: float
    ) -> bytes | None:
        """Wait for a body that the caller does not know. None after the time limit or when a drain begins."""
        deadline = now() + seconds
        with self.changes.of(book_id) as changed:
            while True:
                changed.clear()
                if not is_known(body := await self.read(account_id, book_id)):
                    return body
                del body  # thousands may wait
                if not self._resources.draining:
                    await self._look_again(changed, deadline - now())
                if self._resources.draining or now() >= deadline:
                    return None

    async def _look_again(self, changed: Change, most: float) -> None:
        """Wait for a change, or until it is time to look for one without a notification; the time is random."""
        seconds = LOOK_SECONDS_AMONG_OTHERS if self._resources.other_processes else LOOK_SECONDS
        timer = asyncio.get_running_loop().call_later(min(most, seconds * uniform(0.5, 1)), changed.set)
        try:
            await changed.wait()
        finally:
            timer.cancel()

    def changed(self, key: Key) -> None:
        """Drop the book's cached status and wake the tasks that wait for a change of it."""
        account_id, book_id = key
        self._drop(account_id, book_id, self._kept.get(account_id, {}).get(book_id))
        self.changes.tell(book_id)

    def book_changed(self, book_id: int) -> None:
        """Like `account_changed`, for a book whose account is unknown, as in another process's notification."""
        for account_id, books in list(self._kept.items()):
            self._drop(account_id, book_id, books.get(book_id))
        self.changes.tell(book_id)

    def account_changed(self, account_id: int) -> None:
        """Drop the cached statuses of the account's books, after it has changed something."""
        self._kept.pop(account_id, None)

    def forget_all(self) -> None:
        """Drop everything, since another process may have changed any book."""
        self._kept.clear()

    def forget_old(self) -> None:
        """Drop statuses that nobody has asked for lately."""
        oldest = now() - FORGET_SECONDS
        for account_id, books in list(self._kept.items()):
            for book_id, kept in list(books.items()):
                if kept.body and kept.asked_at < oldest:
                    self._drop(account_id, book_id, kept)

    def _drop(self, account_id: int, book_id: int, kept: Kept | None) -> None:
        """Drop this cached status, but not one that another reader has put in its place."""
        books = self._kept.get(account_id, {})
        if kept is not None and books.get(book_id) is kept:
            del books[book_id]
            if not books:
                del self._kept[account_id]

    def _is_ours(self, run: Run) -> bool:
        """Whether only this process can change the run: it writes it, or it has ended, and no other process lives."""
        mine = run.owner == self._resources.boot_id and run.status is RunStatus.RUNNING
        return (mine or not run.status.active) and not self._resources.other_processes
