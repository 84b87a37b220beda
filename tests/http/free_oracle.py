"""What a free account may have of the providers, and what it had by their own notes.

Two questions are asked of a history. Was more done than the plan allows (`_require_allowed`)? And was all that was done
counted (`_require_counted`)? The second finds a mistake long before an allowance is used up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg

from bookgen.actors.blurbs import MAX_UNUSABLE_TRIES
from bookgen.billing.edits import UNPAID_PART
from bookgen.billing.outlines import FREE_OF_A_BOOK
from bookgen.billing.quota import TIMES_WRITTEN
from bookgen.words import count_words
from bookgen.writing.budget import MAX_BEND
from tests.http.free_models import Noted, Notes

WORDS, CHAPTERS = 600, 3  # of the longest book, and of every book
EDITS, CHECKS, IMAGES = 3, 1, 2
FAILURES, FREE_BOOKS = 2, 1
SMALL = {
    "max_word_count_per_book": WORDS,
    "ai_edits_per_month": EDITS,
    "proofreading_checks_per_month": CHECKS,
    "ai_images_per_month": IMAGES,
}
OUTLINES = FREE_OF_A_BOOK * FREE_BOOKS
# An edit counts its chapter's planned words, and asks for a few more after shorter chapters.
UNPAID = round(WORDS // UNPAID_PART * (1 + MAX_BEND))
TRIES = 3  # of a reply in JSON: the request, a repair, a fresh try (`structured.ask`)
UNANSWERED = 0
TRIED = (UNANSWERED, 200, 404, 502, 503)  # jobs that may have made calls; not found is a book deleted meanwhile
TAKEN_OFF = 20  # words at most
WHOLE = ("", "hold", "stall")  # faults after which a reply is as asked
STAGES = {"chapter", "passage", "outline", "rework", "review", "proofreading", "digest", "blurb"}

Tally = dict[str, tuple[int, int]]

LEDGER = "SELECT output_tokens FROM model_call WHERE account_id = $1 AND images = 0"
COUNTED = """
    SELECT coalesce(sum(books_created), 0) + (SELECT count(*) FROM hold WHERE account_id = $1) AS books,
           coalesce(sum(ai_edits_used), 0) AS edits, coalesce(sum(proofreading_checks_used), 0) AS checks,
           coalesce(sum(ai_images_generated), 0) AS images, coalesce(sum(free_outlines), 0) AS outlines,
           coalesce(sum(failed_jobs), 0) AS failures
      FROM usage_period WHERE account_id = $1
"""
WORDS_OF_BOOKS = """
    SELECT b.title, sum(r.words_written + r.draft_words + r.words_lost) AS words
      FROM book b JOIN run r ON r.book_id = b.id WHERE b.account_id = $1 GROUP BY b.title
"""


@dataclass(frozen=True)
class Judge:
    """Judges one history. `answers`: the statuses of its jobs, by their marks. `started`: the books with a run.
    `cuts`: how often the account stopped a run or deleted a book.
    """

    pool: asyncpg.Pool
    account: int
    reader: int
    notes: Notes
    answers: Mapping[str, int]
    started: Collection[int]
    cuts: int

    async def check(self) -> Tally:
        """What was used and allowed, by kind. Raises AssertionError with the history's number."""
        counted = {name: int(value) for name, value in dict(await self.pool.fetchrow(COUNTED, self.account)).items()}
        told = Told.of(self.notes, self.answers, self.started)
        tally = {**told.tally(), "books": (counted["books"], 1)}
        over = {name: each for name, each in tally.items() if each[0] > each[1]}
        assert not over, f"history {self.reader}: beyond its allowance: {over}"
        missed = {name: each for name, each in told.missed(counted).items() if each[0] > each[1]}
        assert not missed, f"history {self.reader}: done, but not counted: {missed}"
        await self._check_words(told, counted["failures"])
        await self._check_ledger()
        return {**tally, **told.reached()}

    async def _check_words(self, told: Told, failures: int) -> None:
        """The words that the provider wrote for the runs of a book are counted there, but for free failures.

        One call may be missing, on whose way a stop came.
        """
        for row in await self.pool.fetch(WORDS_OF_BOOKS, self.account):
            number = int(row["title"].partition("Book")[2])
            work = [each for each in told.of_runs if each.book == number]
            wrote = sum(map(_kept, work)) - told.free_words(work, failures) - told.unmarked_words - told.largest
            assert wrote <= int(row["words"]), (
                f"history {self.reader}: {wrote} words were written in book {number}, and {row['words']} counted"
            )

    async def _check_ledger(self) -> None:
        """Each answered call is in the ledger once. One that is cut off is not, even if the provider has just answered
        it. What cuts off a chapter cuts off the note beside it, too. So does a chapter that fails, or its end, if the
        provider keeps the note waiting.
        """
        rows = await self.pool.fetch(LEDGER, self.account)
        entered = Counter(int(row["output_tokens"]) for row in rows)
        answered = [each for each in self.notes.calls if each.call.ended == "answered" and each.call.brief.get("told")]
        twice = [each for each in answered if entered[each.call.brief["told"]] > 1]
        assert not twice, f"history {self.reader}: in the ledger twice: {_listed(twice)}"
        missed = [each for each in answered if not entered[each.call.brief["told"]]]
        notes = [each for each in missed if each.call.stage == "digest"]
        others = [each for each in missed if each.call.stage != "digest"]
        assert len(others) <= self.cuts, f"history {self.reader}: not in the ledger: {_listed(others)}"
        late = sum(map(_may_cut_off_a_note, answered))
        assert len(notes) <= self.cuts + late, (
            f"history {self.reader}: notes that are not in the ledger: {_listed(notes)}"
        )
        assert len(rows) <= len(self.notes.calls), f"history {self.reader}: more entries in the ledger than calls"


@dataclass(frozen=True)
class Told:
    """The work of a history, by kinds."""

    of_runs: list[Noted]  # chapters without the mark of an edit
    edits: set[str]
    edits_done: int
    outlines: set[str]
    outlines_done: int
    unpaid: list[Noted]  # calls of edits in books that no run was ever accepted for
    done: set[str]  # the marks of jobs that succeeded
    reports: int
    started: Collection[int]
    stages: Counter[str]
    pictures: int
    unmarked: int  # edits of chapters without a text, whose prompts do not have the mark
    largest: int

    @classmethod
    def of(cls, notes: Notes, answers: Mapping[str, int], started: Collection[int]) -> Told:
        calls = notes.calls
        written = [each for each in calls if each.call.stage in ("chapter", "passage")]
        marked = [each for each in written if each.mark("EDIT")]
        done = {mark for mark, status in answers.items() if status == 200}
        seen = {each.mark("EDIT") for each in marked}
        planned = {each.mark(each.call.stage.upper()) for each in calls if each.call.stage in ("outline", "rework")}
        edits_done = {mark for mark in done if mark.startswith("EDIT")}
        outlines_done = done - edits_done
        tried = {mark for mark, status in answers.items() if mark.startswith("EDIT") and status in TRIED}
        return cls(
            of_runs=[each for each in written if not each.mark("EDIT")],
            edits=seen | edits_done,
            edits_done=len(edits_done),
            outlines=planned,
            outlines_done=len(outlines_done),
            unpaid=[each for each in marked if each.book not in started],
            done=done,
            reports=_reports(calls),
            started=started,
            stages=Counter(each.call.stage for each in calls),
            pictures=notes.pictures,
            unmarked=len(tried - seen),
            largest=max((max(each.asked, _work(each)) for each in calls), default=0),
        )

    @property
    def unmarked_words(self) -> int:
        """An edit covers the words of its chapter."""
        return self.unmarked * self.largest

    def tally(self) -> Tally:
        """What was used and allowed. Free failures are common to all kinds of work."""
        assert not set(self.stages) - STAGES, f"unknown stages: {set(self.stages) - STAGES}"
        # Outlines beyond the free ones are edits.
        jobs = len(self.edits) + max(0, len(self.outlines) - OUTLINES) - EDITS
        jobs_done = self.edits_done + max(0, self.outlines_done - OUTLINES)
        failed_jobs = max(0, jobs, self._failures_unpaid())
        failures = [failed_jobs, max(0, self.reports - CHECKS), self._failures_of_runs()]
        unpaid = self._unpaid_words()
        return {
            "AI edits done": (jobs_done, EDITS),
            "jobs": (len(self.edits) + len(self.outlines), EDITS + OUTLINES + FAILURES),
            "reports": (self.reports, CHECKS + FAILURES),
            "words of runs": (self._words_of_runs(), self._words_allowed()),
            "words of unpaid edits": (sum(unpaid[mark] for mark in unpaid.keys() & self.done), UNPAID),
            "free failures": (sum(failures), FAILURES),
            "books written": (self._books_written(), 1 + self.unmarked),
            "images": (self.pictures, IMAGES),
            **self._notes_of_chapters(),
        }

    def reached(self) -> Tally:
        """How much of each allowance of the plan was used, without what may be free or one call beyond it."""
        used = {
            "all edits": (len(self.edits), EDITS),
            "all free outlines": (len(self.outlines), OUTLINES),
            "all checks": (self.reports, CHECKS),
            "all words of a hold": (self._words_of_runs(), TIMES_WRITTEN * WORDS),
        }
        return {name: (min(had, most), most) for name, (had, most) in used.items()}

    def missed(self, counted: Mapping[str, int]) -> Tally:
        """What was done, and what was counted for it: as used, as a free outline or as a free failure."""
        jobs = counted["edits"] + counted["outlines"] + counted["failures"]
        done = self.edits_done + self.outlines_done
        return {
            "jobs done": (done, counted["edits"] + counted["outlines"]),
            "jobs": (len(self.edits) + len(self.outlines), jobs),
            "reports": (self.reports, counted["checks"] + counted["failures"]),
            "all": (len(self.edits) + len(self.outlines) + self.reports, jobs + counted["checks"]),
            "images": (self.pictures, counted["images"]),
        }

    def free_words(self, work: Iterable[Noted], failures: int) -> int:
        """The words of the failures that cost most."""
        return sum(sorted((words for _, words in _failed(work)), reverse=True)[:failures])

    def _words_allowed(self) -> int:
        """A hold pays for TIMES_WRITTEN times the longest book, looked at before each call: so one call may pass it."""
        return TIMES_WRITTEN * WORDS + self.largest + self.unmarked_words

    def _words_of_runs(self) -> int:
        return sum(map(_work, self.of_runs)) - self.free_words(self.of_runs, self._failures_of_runs())

    def _books_written(self) -> int:
        """A book that a run has written keeps its hold, even if it is deleted. Its first call may have been cut off."""
        calls = Counter(
            each.book for each in self.of_runs if each.call.ended == "answered" and each.book in self.started
        )
        return sum(many > 1 for many in calls.values())

    def _failures_of_runs(self) -> int:
        """How many failures have to be free for the words to be allowed."""
        words = sum(map(_work, self.of_runs))
        every = range(FAILURES + 1)
        enough = (free for free in every if words - self.free_words(self.of_runs, free) <= self._words_allowed())
        return next(enough, FAILURES)

    def _failures_unpaid(self) -> int:
        """How many edits of unpaid books have to be free for their words to be allowed, which each reserves."""
        rest, free = sorted(self._unpaid_words().values()), 0
        while sum(rest) > UNPAID:
            rest.pop()
            free += 1
        return free

    def _unpaid_words(self) -> dict[str, int]:
        """The words of the edits of unpaid books, by their marks: those of the first call, for the whole passage."""
        words: dict[str, int] = {}
        for each in self.unpaid:
            words.setdefault(each.mark("EDIT"), each.asked)
        return words

    def _notes_of_chapters(self) -> Tally:
        """Notes are made beside a chapter that is written, of the others, and before a reading or a blurb, of all."""
        beside = self.stages["chapter"] * (CHAPTERS - 1) * TRIES
        blurbs = MAX_UNUSABLE_TRIES * TRIES  # of the one book that a period completes
        before = (CHECKS + FAILURES + MAX_UNUSABLE_TRIES) * CHAPTERS * TRIES
        return {"digests": (self.stages["digest"], beside + before), "blurbs": (self.stages["blurb"], blurbs)}


def _work(each: Noted) -> int:
    """The words of a call, as they count: those of its text, or those asked for if it was cut off or refused.

    A reply without a usable text counts only if its whole chapter fails, so that it may be the third of three.
    """
    if each.call.ended != "answered" or each.call.fault == "refusal":
        return each.asked
    return 0 if each.call.fault in ("empty", "text") else count_words(each.call.reply)


def _kept(each: Noted) -> int:
    """The words of a call without those that are taken off a reply: a heading, half a sentence at its end."""
    return max(0, _work(each) - TAKEN_OFF)


def _may_cut_off_a_note(each: Noted) -> bool:
    """Whether the call can fail its chapter, or is a note that takes longer than its chapter waits for it."""
    return each.call.fault in ("hold", "stall") if each.call.stage == "digest" else each.call.fault not in WHOLE


def _listed(calls: Iterable[Noted]) -> str:
    return "; ".join(map(str, calls))


def _failed(work: Iterable[Noted]) -> list[tuple[Any, int]]:
    """The failures among the calls of runs, with their words: a refusal, or a call cut off."""
    return [(each, _work(each)) for each in work if each.call.ended != "answered" or each.call.fault == "refusal"]


def _reports(calls: Iterable[Noted]) -> int:
    """How many reports were made at least: each reads a chapter once, and a review the whole book in one call."""
    whole = [each for each in calls if each.call.fault in WHOLE]
    reviews = sum(each.call.stage == "review" for each in whole)
    read = Counter(each.call.brief["chapter_number"] for each in whole if each.call.stage == "proofreading")
    return reviews + max(read.values(), default=0)
