"""Marks of origin in pictures, put in once, before a picture is stored."""

from __future__ import annotations

from bookgen.models import SourceType
from bookgen.render.marks.jpeg import with_mark
from bookgen.render.model import Picture


class PictureMarks:
    """`on`: whether pictures are marked (the operator's BOOKGEN_MARK_ORIGIN)."""

    def __init__(self, *, on: bool = True) -> None:
        self._on = on

    async def marked(self, picture: Picture, source: SourceType) -> Picture:
        """The picture as it is stored and served."""
        return with_mark(picture, source) if self._on else picture
