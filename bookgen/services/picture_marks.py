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
    """Marks pictures with their origin, and signs them.

    `on`: whether pictures are marked at all (the operator's setting BOOKGEN_MARK_ORIGIN). `credentials`: signs the
    pictures; None: they are not signed. Pictures are signed in the service's own process. The worker processes do not
    get the key, since they read untrusted files.
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
