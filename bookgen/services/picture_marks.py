"""Adds metadata about the origin of a picture (an image model or bookgen's own code) once, before it is stored."""

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
    """Adds an origin mark to pictures, and signs them.

    `on`: whether pictures are marked and signed at all (the operator's setting BOOKGEN_MARK_ORIGIN). `credentials`:
    signs the pictures; if it is None, they are only marked. Pictures are signed in the service's own process. The
    worker processes do not get the key, since they read untrusted files.
    """

    def __init__(self, *, on: bool = True, credentials: CredentialSigner | None = None) -> None:
        self._on, self._credentials = on, credentials

    async def marked(self, picture: Picture, source: SourceType) -> Picture:
        """The picture with its origin mark and signature, as it is stored and served.

        A picture that cannot be signed is returned with the mark only. Raising an error would lose a picture that may
        have cost money.
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
                to_do="Remove origin.pem from the data folder, then restart the service, which creates a new signing "
                "key.",
            )
            return picture
