"""The survey: what the rules and a spelling and grammar checker find in a book. It runs in a separate process.

A novel takes seconds, and while the checker starts, it holds the interpreter lock for two seconds. The memory of the
process is limited to MEMORY.

The service sends the pickled book and then its chapters, one at a time, to the process's stdin. The process answers on
stdout with JSON. The book is untrusted input, so the answer is untrusted too: reading it can only produce corrections.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import orjson
import structlog

from bookgen import processes
from bookgen.errors import ProofreadingFailed
from bookgen.models import Book, Chapter, Severity, SuggestionType
from bookgen.writing.craft import has_refrains
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.placing import found_again

log = structlog.get_logger(__name__)

MODULE = "bookgen.writing.proofreading.survey"
MEMORY = 2 * 1024**3
TIMEOUT = 900.0  # seconds: 100,000 words of English take 15 on a quiet machine, 100 MB take 300


class UnreadableSurvey(Exception):
    """The answer of the survey process is not a valid survey."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the rules (`rules`) and the checker (`checker`) found in a whole book, by chapter id.

    Each finding of the checker comes with a flag: whether its rule is reliable. `versions`: the content version of each
    chapter that was read. `mark`: the mark that opens most quotations of the book; empty if the book has few
    quotations.
    """

    rules: Mapping[int, Sequence[Correction]]
    checker: Mapping[int, Sequence[tuple[Correction, bool]]]
    versions: Mapping[int, int]
    mark: str = ""

    def of(self, chapter: Chapter) -> tuple[list[Correction], list[tuple[Correction, bool]]]:
        """The findings of the rules and of the checker in the current text of the chapter.

        If the text has changed since the survey, findings are moved to their new places. Those whose place is in doubt
        are dropped.
        """
        seen, checked = self.rules.get(chapter.id, ()), self.checker.get(chapter.id, ())
        if self.versions.get(chapter.id) == chapter.content_version:
            return list(seen), list(checked)
        again = ((found_again(each, chapter.content), proven) for each, proven in checked)
        return (
            [each for correction in seen if (each := found_again(correction, chapter.content))],
            [(each, proven) for each, proven in again if each],
        )

    def packed(self) -> bytes:
        return orjson.dumps(self, option=orjson.OPT_NON_STR_KEYS)

    @classmethod
    def read(cls, answer: bytes) -> Survey:
        """Parse the answer of the survey process. Raises UnreadableSurvey if the answer is not a valid survey."""
        try:
            told = orjson.loads(answer)
            return cls(
                {int(number): [_correction(each) for each in found] for number, found in told["rules"].items()},
                {
                    int(number): [(_correction(each), bool(proven)) for each, proven in found]
                    for number, found in told["checker"].items()
                },
                {int(number): int(version) for number, version in told["versions"].items()},
                str(told["mark"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableSurvey(f"{error!r}") from error


def _correction(told: Mapping[str, Any]) -> Correction:
    why = told["reason"]
    reason = Reason(SuggestionType(why["type"]), Severity(why["severity"]), why["explanation"], why["source"])
    return Correction(**{**told, "reason": reason})


async def survey(
    book: Book, chapters: AsyncIterable[Chapter], *, seconds: float = TIMEOUT, memory: int = MEMORY
) -> Survey:
    """Survey the book in a separate process, which is killed on cancellation.

    Raises ProofreadingFailed if the process fails or exceeds its time or size limit.
    """
    try:
        process = await processes.start(MODULE, memory)
        answer = await processes.answer(process, _pickled(book, chapters), seconds)
        return await asyncio.to_thread(Survey.read, answer)
    except (OSError, TimeoutError, UnreadableSurvey) as error:
        log.error(
            "survey_failed",
            book_id=book.id,
            error=repr(error),
            to_do="This proofreading report failed. If this repeats, check whether the machine lacks CPU or memory.",
        )
        raise ProofreadingFailed from error


async def _pickled(book: Book, chapters: AsyncIterable[Chapter]) -> AsyncIterator[bytes]:
    yield pickle.dumps(book, pickle.HIGHEST_PROTOCOL)
    async for chapter in chapters:
        yield pickle.dumps(chapter, pickle.HIGHEST_PROTOCOL)


def survey_of(book: Book, chapters: Iterable[Chapter]) -> Survey:
    # Only the worker needs them, not the process that starts it.
    from bookgen.writing.proofreading import quotation, rules

    chapters = list(chapters)
    text = BookText.of(book, chapters)
    checker: defaultdict[int, list[tuple[Correction, bool]]] = defaultdict(list)
    if text.primary == "en":
        from bookgen.writing.proofreading import english  # the checker takes a second and 100 MB to load

        for chapter_id, correction, proven in english.corrections(text, book.content_language):
            if len(checker[chapter_id]) < rules.MAX_CORRECTIONS:
                checker[chapter_id].append((correction, proven))
    found = rules.check(text, refrains=has_refrains(book))
    versions = {chapter.id: chapter.content_version for chapter in chapters}
    return Survey(found, dict(checker), versions, quotation.usual_opening(text))


def _unpickled(source: IO[bytes]) -> Iterator[Any]:
    """Unpickle one object after the other until the end of the stream."""
    while True:
        try:
            yield pickle.load(source)
        except EOFError:
            return


def main() -> None:
    target, told = processes.begin(), _unpickled(sys.stdin.buffer)
    asked = next(told, None)
    if asked is None:  # the service ended before it sent the book
        return
    target.write(survey_of(asked, told).packed())
    target.flush()


if __name__ == "__main__":
    main()
