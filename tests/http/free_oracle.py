"""What a free account may have of the providers, and what it had by their own notes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import asyncpg

from bookgen.billing.edits import UNPAID_PART
from bookgen.billing.outlines import FREE_OF_A_BOOK
from bookgen.billing.quota import TIMES_WRITTEN
from bookgen.words import count_words
from tests.fakes.model_script import Call
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import Stream, WireReply

WORDS, CHAPTERS = 600, 3  # of the longest book, and of every book
EDITS, CHECKS, IMAGES = 3, 1, 2
FAILURES, FREE_BOOKS = 2, 1
SMALL = {
    "max_word_count_per_book": WORDS,
    "ai_edits_per_month": EDITS,
    "proofreading_checks_per_month": CHECKS,
    "ai_images_per_month": IMAGES,
}
TRIES = 3  # of one JSON reply
FREE_OUTLINES = FREE_OF_A_BOOK * FREE_BOOKS
MARK = re.compile(r"(?:OUTLINE|EDIT)-\d+-(?:OUTLINE|EDIT)")
CLEAN = ("", "hold", "stall", "truncate")

Tally = dict[str, tuple[int, int]]

LEDGER = "SELECT stage, output_tokens FROM model_call WHERE account_id = $1 AND images = 0"
USED = """
    SELECT coalesce(sum(books_created), 0) + (SELECT count(*) FROM hold WHERE account_id = $1) AS books,
           coalesce(sum(ai_edits_used), 0) AS edits, coalesce(sum(proofreading_checks_used), 0) AS checks,
           coalesce(sum(ai_images_generated), 0) AS images
      FROM usage_period WHERE account_id = $1
"""


class NotingModels(ModelServer):
    """Notes the usage that it told of each call. Every reply costs another number of tokens."""

    def reset(self) -> None:
        super().reset()
        self.told: dict[int, int] = {}

    async def _reply(self, call: Call, kind: str, options: dict[str, Any]) -> WireReply:
        reply = await super()._reply(call, kind, options)
        if reply.usage is not None:
            reply.usage["output"] += call.number * 10_000
            self.told[call.number] = reply.usage["output"]
        call.brief["told"] = reply.usage["output"] if reply.usage else 0
        return reply

    async def _pieces(self, text: str, kind: str, options: dict[str, Any], stream: Stream) -> AsyncIterator[str]:
        """A call that stalls is half streamed, and goes on once it is released."""
        if kind == "stall":
            half = len(text) // 2
            yield text[:half]
            await self._released.wait()
            text = text[half:]
        async for piece in super()._pieces(text, "", options, stream):
            yield piece


@dataclass(frozen=True)
class Judge:
    """Compares the calls of one history with what the plan allows, and with the ledger."""

    pool: asyncpg.Pool
    account: int
    seed: int

    async def check(self, calls: list[Call], images: int) -> Tally:
        """What was used and allowed, by kind. Raises AssertionError with the history's seed."""
        tally = {**_words(calls), **_units(calls), "images": (images, IMAGES)}
        tally |= await self._counted()
        over = {name: each for name, each in tally.items() if each[0] > each[1]}
        assert not over, f"history {self.seed}: beyond its allowance: {over}"
        await self._check_ledger(calls)
        return tally

    async def _counted(self) -> Tally:
        row = await self.pool.fetchrow(USED, self.account)
        allowed = {"books": 1, "edits": EDITS, "checks": CHECKS, "images": IMAGES}
        return {f"{name} counted": (int(row[name]), most) for name, most in allowed.items()}

    async def _check_ledger(self, calls: list[Call]) -> None:
        """Each answered call is in the ledger once, and no call more often."""
        rows = await self.pool.fetch(LEDGER, self.account)
        entered = Counter(int(row["output_tokens"]) for row in rows)
        for call in calls:
            told = call.brief.get("told")
            if call.ended == "answered" and told:
                assert entered[told] == 1, (
                    f"history {self.seed}: call {call.number} is in the ledger {entered[told]} times"
                )
        assert len(rows) <= len(calls), f"history {self.seed}: {len(rows)} entries for {len(calls)} calls"


def _words(calls: list[Call]) -> Tally:
    """The words of runs, whatever became of them. A call that brought nothing has the words that it was asked for."""
    written = [call for call in calls if call.stage == "chapter" and not MARK.search(_wish(call))]
    one_more = max((_asked(call) for call in calls), default=0)
    failed = sorted((_asked(call) for call in written if call.fault not in CLEAN), reverse=True)
    free = sum(failed[: FAILURES * TRIES])
    edits = EDITS * one_more  # of chapters without a text, whose prompts do not contain the mark
    allowed = TIMES_WRITTEN * WORDS + free + edits + one_more
    return {"words of runs": (sum(_work(call) for call in written), allowed)}


def _work(call: Call) -> int:
    return count_words(call.reply) if call.fault in CLEAN and call.reply else _asked(call)


def _asked(call: Call) -> int:
    return int(call.brief.get("words", 0))


def _wish(call: Call) -> str:
    """The prompt without what was asked for as style, in which outlines are marked."""
    return re.sub(r"OUTLINE-\d+-OUTLINE", "", _prompt(call))


def _prompt(call: Call) -> str:
    return json.dumps(call.body)


def _units(calls: list[Call]) -> Tally:
    """Jobs by their marks, and the calls of what has none. In each kind, failures are free `FAILURES` times."""
    by_stage = Counter(call.stage for call in calls)
    edits = {mark for call in calls for mark in MARK.findall(_wish(call)) if call.stage in ("chapter", "passage")}
    outlines = {
        mark for call in calls if call.stage in ("outline", "rework") for mark in MARK.findall(_prompt(call))[-1:]
    }
    clean = [call for call in calls if call.stage in ("review", "proofreading") and call.fault in CLEAN]
    unpaid = [_work(call) for call in calls if call.stage == "chapter" and MARK.search(_wish(call))]
    return {
        "edits": (len(edits), EDITS + FAILURES + 1),
        "outlines": (len(outlines), FREE_OUTLINES + EDITS + FAILURES + 1),
        "jobs": (len(edits) + len(outlines), FREE_OUTLINES + EDITS + FAILURES + 1),
        "words of edits": (sum(unpaid), (EDITS + FAILURES) * WORDS + WORDS // UNPAID_PART),
        "calls of reports": (len(clean), CHAPTERS * (CHECKS + FAILURES) + 1),
        "blurbs": (by_stage["blurb"], TRIES),
        "digests": (by_stage["digest"], 200),
    }
