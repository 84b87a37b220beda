"""The survey of a book by rules and a checker, in a process of its own: `python -m` with this module's name.

A novel takes seconds, and the checker holds the interpreter for two of them while it starts. The book comes in on
stdin, pickled by the service; the survey goes out on stdout.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bookgen.models import Book, Chapter
from bookgen.processes import clean_environment
from bookgen.writing.proofreading import rules
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.voice import has_refrains

MODULE = "bookgen.writing.proofreading.survey"


@dataclass(frozen=True, slots=True)
class Survey:
    """What rules and a checker see in a book, by chapter id; a checker's with whether each has proved right."""

    rules: Mapping[int, Sequence[Correction]]
    checker: Mapping[int, Sequence[tuple[Correction, bool]]]
    names: tuple[str, ...]


async def survey(book: Book, chapters: Sequence[Chapter]) -> Survey:
    """RuntimeError when its process fails; who does not wait for it any more ends it."""
    data = await asyncio.to_thread(pickle.dumps, (book, list(chapters)), pickle.HIGHEST_PROTOCOL)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        MODULE,
        stdin=PIPE,
        stdout=PIPE,
        env=clean_environment(),
        start_new_session=True,  # a Ctrl-C in the terminal is for the service
    )
    try:
        answer, _ = await process.communicate(data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"The survey of book {book.id} ended with {process.returncode}.")
    found: Survey = await asyncio.to_thread(pickle.loads, answer)
    return found


def survey_of(book: Book, chapters: Sequence[Chapter]) -> Survey:
    text = BookText.of(book, chapters)
    checker: defaultdict[int, list[tuple[Correction, bool]]] = defaultdict(list)
    if text.primary == "en":
        from bookgen.writing.proofreading import english  # the checker takes a second and 100 MB to load

        for chapter_id, correction, proven in english.corrections(text, book.content_language):
            checker[chapter_id].append((correction, proven))
    found = rules.check(text, refrains=has_refrains(book.genre))
    return Survey(found, dict(checker), tuple(sorted(text.names)))


def main() -> None:
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints to the log and not into the answer
    book, chapters = pickle.load(sys.stdin.buffer)
    # The module runs under another name than it is imported by, and the service must know what it unpickles.
    from bookgen.writing.proofreading import survey as known

    target.write(pickle.dumps(known.survey_of(book, chapters), pickle.HIGHEST_PROTOCOL))
    target.flush()


if __name__ == "__main__":
    main()
