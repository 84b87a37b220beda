"""Imports that every process of the service needs, loaded once by the process that all others are forked from.

The SDKs of the providers and the payment processor, the checker's dictionary, the fonts and the hyphenation patterns
take up to four seconds of CPU, for each of hundreds of processes.
"""

from __future__ import annotations

import errno
import gc
from multiprocessing import reduction

import anthropic
import openai
import stripe  # noqa: F401 (imported for its side effects)

from bench.render import corpus
from bookgen.render.cover.job import Copy, CoverJob
from bookgen.render.formats import FORMATS
from bookgen.render.job import Job
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
from bookgen.writing.proofreading.survey import survey_of

BOOK, CHAPTERS = corpus.book(corpus.Corpus("loaded", chapters=1, words=100))

# These SDKs import the code of a resource on its first use.
_ = anthropic.AsyncAnthropic(api_key="none").messages
_ = (client := openai.AsyncOpenAI(api_key="none")).chat.completions, client.responses, client.images
survey_of(BOOK, CHAPTERS)
perform(CoverJob(Copy(BOOK.title, "", BOOK.author_name, "en"), "seed", BOOK.genre, 0))
for kind in FORMATS:
    perform(Job(kind, BOOK, CHAPTERS, BOOK.author_name, ExportSettings(), watermark=False))

# Forked processes must not scan these objects for garbage, since that would copy their shared memory.
gc.freeze()


def _received(connection: object, most: int, receive=reduction.recvfds) -> list[int]:
    """Treat a truncated request as a broken connection, so that a killed process does not end the fork server."""
    try:
        return receive(connection, most)
    except EOFError as error:
        raise ConnectionAbortedError(errno.ECONNABORTED, "broken off") from error


reduction.recvfds = _received
