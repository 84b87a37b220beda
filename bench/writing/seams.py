"""A model that cuts off 40 % of its replies, and cuts off another 5 % but reports them as finished."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

from bench.writing.row import Measure, Size
from bookgen.writing.material import ChapterDraft
from bookgen.writing.sentences import is_finished
from tests.fakes.model_script import Call
from tests.writing.authored import PROTOCOLS, authored, write_book
from tests.writing.misbehaved import cuts
from tests.writing.scripted import numbers_in, some_material


async def rows(size: Size) -> AsyncIterator[Measure]:
    for protocol in PROTOCOLS:
        async with authored(cuts(random.Random(protocol)), protocol) as (server, steps):
            drafts, _ = await write_book(some_material(size.chapters, words=size.words), steps)
        texts = [draft.content for draft in drafts]
        broken = sum(not is_finished(draft.content) and not _says_so(draft) for draft in drafts)
        seams = sum(numbers_in(text) != list(_from(numbers_in(text))) for text in texts)
        most = _longest_run(server.requests)
        yield Measure(
            "replies cut, 40 % + 5 % hidden",
            protocol,
            f"{broken} end in mid-sentence without a finding, {seams} with words doubled or missing, "
            f"{most} continuations at most",
            "0, 0, <= 3",
            broken == 0 and seams == 0 and most <= 3,
        )


def _says_so(draft: ChapterDraft) -> bool:
    return any(finding.kind == "unfinished" for finding in draft.findings)


def _from(numbers: list[int]) -> range:
    return range(numbers[0], numbers[0] + len(numbers))


def _longest_run(calls: list[Call]) -> int:
    longest = run = 0
    for call in calls:
        run = run + 1 if call.brief.get("task") == "continue" else 0
        longest = max(longest, run)
    return longest
