"""Books by models whose lengths deviate by -30 % to +30 % from the request, constantly or by chapter."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable

from bench.writing.row import Measure, Size
from bookgen.writing.material import ChapterDraft
from tests.writing.authored import write_book
from tests.writing.misbehaved import writes
from tests.writing.scripted import Scripted, some_material

DRIFT = 0.3
WORDS = 800  # per chapter
BAR = ">= 95 % within 10 %, 0 endings cut, 0 chapters bent by more than a quarter"


async def rows(size: Size) -> AsyncIterator[Measure]:
    """For half of the books the deviation is constant; for the others it is drawn anew for each chapter."""
    rng = random.Random(1)
    near = cut = bent = 0
    books = size.books * 4
    for number in range(books):
        chapters = rng.randint(10, 14)
        steps = Scripted(writes(_share(rng, constant=number % 2 == 0)))
        drafts, _ = await write_book(some_material(chapters, words=WORDS), steps)
        near += abs(sum(draft.word_count for draft in drafts) / (chapters * WORDS) - 1) <= 0.1
        cut += _endings_cut(drafts, steps)
        asked = [request.described()["words"] for request in steps.of_stage("chapter")]
        bent += sum(not 0.75 <= words / WORDS <= 1.25 for words in asked)
    yield Measure(
        f"{books} books that drift",
        "scripted",
        f"{near / books:.1%} within 10 %, {cut} endings cut, {bent} chapters bent by more than a quarter",
        BAR,
        near >= 0.95 * books and not cut and not bent,
    )


def _share(rng: random.Random, *, constant: bool) -> Callable[[], float]:
    always = 1 + rng.uniform(-DRIFT, DRIFT)
    return (lambda: always) if constant else lambda: 1 + rng.uniform(-DRIFT, DRIFT)


def _endings_cut(drafts: list[ChapterDraft], steps: Scripted) -> int:
    replies = {reply.text for reply in steps.stored.values()}
    return sum(draft.content not in replies for draft in drafts)
