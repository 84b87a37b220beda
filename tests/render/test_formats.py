"""The table of export formats lists exactly the settings that change each format's file."""

from __future__ import annotations

import io
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from PIL import Image

from bench.render import corpus
from bookgen.render.cover.job import Copy, CoverDesign
from bookgen.render.formats import FORMATS
from bookgen.render.job import Job
from bookgen.render.model import Picture
from bookgen.render.perform import export
from bookgen.render.settings import ExportSettings

CHANGED: dict[str, Any] = {
    "dedication": "For Ada",
    "copyright_text": "All rights reserved by the lighthouse.",
    "isbn": "978-3-16-148410-0",
    "publisher": "Salt Press",
    "font": "sans",
    "font_size": 18.0,
    "line_spacing": 2.0,
    "chapter_starts": "any",
    "profile": "print",
    "paper": "cream",
}
# Some settings have an effect only together with others.
BASES = (
    ExportSettings(),
    ExportSettings(copyright_text="All rights reserved."),
    ExportSettings(profile="print"),
    ExportSettings(cover_wrap=True),
)
# Short, so that the files are made quickly, and with a blank page before a chapter on the right.
TEXT = corpus.Corpus("rich", chapters=2, words=1_000, rich=True)
DESIGN = CoverDesign(Copy("The Salt Road", "", "Ada", "en"), "salt", "horizon", 1)


@cache
def made(format: str, settings: ExportSettings) -> bytes:
    book, chapters = corpus.book(TEXT)
    figures = [replace(each, picture=red()) for each in corpus.illustrations(TEXT)]
    return export(
        Job(
            format,
            book,
            chapters,
            "Ada",
            settings,
            watermark=False,
            cover=red(),
            cover_design=DESIGN,
            illustrations=figures,
        )
    )


@cache
def red() -> Picture:
    data = io.BytesIO()
    Image.new("RGB", (160, 256), (200, 20, 20)).save(data, "JPEG")
    return Picture(data.getvalue(), 160, 256)


def changes(format: str, name: str) -> bool:
    """Whether a different value of the setting makes a different file."""
    return any(
        made(format, base) != made(format, replace(base, **{name: CHANGED.get(name, not getattr(base, name))}))
        for base in BASES
    )


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_lists_exactly_the_settings_that_change_its_file(format: str) -> None:
    effective = {each.name for each in fields(ExportSettings) if changes(format, each.name)}

    assert FORMATS[format].settings == effective
