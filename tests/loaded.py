"""What every process of the service would load anew: imported once, by the one that they are forked from.

The checker's dictionary, the fonts, the patterns of hyphenation: two seconds of CPU for each of hundreds of processes.
"""

from __future__ import annotations

from bench.render import corpus
from bookgen.render.cover.job import Copy, CoverJob
from bookgen.render.job import Job
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
from bookgen.writing.proofreading.survey import survey_of

BOOK, CHAPTERS = corpus.book(corpus.Corpus("loaded", chapters=1, words=100))

survey_of(BOOK, CHAPTERS)
perform(CoverJob(Copy(BOOK.title, "", BOOK.author_name, "en"), "seed", BOOK.genre, 0))
for kind in ("pdf", "docx", "epub"):
    perform(Job(kind, BOOK, CHAPTERS, BOOK.author_name, ExportSettings(), watermark=False))
