"""Marks of origin in pictures, inserted once, before a picture is stored."""

from __future__ import annotations

from dataclasses import replace

import structlog

from bookgen.models import SourceType
from bookgen.render.marks.jpeg import with_mark
from bookgen.render.model import Picture
from bookgen.services.credentials import CredentialSigner, SigningFailed
from bookgen.threads import compute

log = structlog.get_logger(__name__)


class PictureMarks:
    """`on`: whether pictures are marked (the operator's BOOKGEN_MARK_ORIGIN). `credentials`: what signs them, if any.

    The service signs, not the worker that drew or read the picture: workers read what strangers wrote, and get no key.
    """

    def __init__(self, *, on: bool = True, credentials: CredentialSigner | None = None) -> None:
        self._on, self._credentials = on, credentials

    async def marked(self, picture: Picture, source: SourceType) -> Picture:
        """The picture with its marks, as it is stored and served.

        If it cannot be signed, it is returned unsigned instead of being lost, because it may have been paid for.
        """
        if not self._on:
            return picture
        picture = with_mark(picture, source)
        if self._credentials is None:
            return picture
        try:
            return replace(picture, data=await compute(self._credentials.signed, picture.data, source))
        except SigningFailed as error:
            log.error(
                "picture_not_signed",
                reason=str(error),
                to_do="Remove origin.pem from the data folder, then restart: a new key is made.",
            )
            return picture
