"""Performs a worker's jobs: exports, covers and pictures."""

from __future__ import annotations

from dataclasses import replace

import orjson

from bookgen.render.answers import Result
from bookgen.render.cover.job import CoverJob, PictureJob, ReceivedJob
from bookgen.render.cover.make import keep_picture, make_cover, make_picture
from bookgen.render.edition import Edition
from bookgen.render.formats import FORMATS
from bookgen.render.job import Job
from bookgen.render.manuscript import manuscript
from bookgen.render.page_images import scanned_pages
from bookgen.render.pdf.writer import write_pdf
from bookgen.render.preview import html_pages
from bookgen.render.scenes.job import SceneJob, SheetJob
from bookgen.render.scenes.make import make_scene, make_sheet


def perform(job: Job | CoverJob | PictureJob | ReceivedJob | SceneJob | SheetJob) -> Result:
    """Perform a job and return its result."""
    match job:
        case CoverJob():
            return make_cover(job)
        case PictureJob():
            return make_picture(job)
        case ReceivedJob():
            return keep_picture(job)
        case SceneJob():
            return make_scene(job)
        case SheetJob():
            return make_sheet(job)
        case _:
            return export(job)


def export(job: Job) -> bytes:
    """The exported file. For the kinds "pages" and "scans": pages as HTML or as images, in JSON."""
    text = manuscript(
        job.book,
        job.chapters,
        author=job.author,
        watermark=job.watermark,
        cover=job.cover,
        illustrations=job.illustrations if job.settings.include_illustrations else (),
        source=job.source,
    )
    edition = Edition(text, job.settings, replace(job, kind="").digest, job.cover_design)
    match job.kind:
        case "pages":
            pages = html_pages(edition.layout)
            return orjson.dumps({"page_count": len(pages), "pages": pages})
        case "scans":
            return orjson.dumps(scanned_pages(text, edition, job.first))
        case "preview":
            return write_pdf(text, edition.layout, edition.settings, preview=True)
        case _:
            return FORMATS[job.kind].write(edition)
