"""A place outside the database that stores files by name."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass

from bookgen.errors import FilesUnavailable

BUCKET = "s3://"
TRIAL, TRIAL_BYTES, TRIALS = "0" * 40, 32, 5  # all trials use one name, so that at most one file is left behind


class FileMissing(Exception):
    """The place has no file of this name."""


class FilesRefused(FilesUnavailable):
    """The place refuses access. Retrying does not help: someone must change the place or the settings."""


class FilePlace(ABC):
    """Stores files by name: 40 random hexadecimal digits.

    All methods raise FilesUnavailable if the place cannot be reached or refuses access.
    """

    def __init__(self, address: str) -> None:
        """`address`: the path or URL of this place, by which the rows of the database refer to it."""
        self.address = address

    @abstractmethod
    async def put(self, name: str, data: bytes) -> None:
        """Write a file. When this returns, the file is complete and durable."""

    async def put_checked(self, name: str, data: bytes) -> None:
        """Write a file and read it back. Raises FilesRefused if the content differs."""
        await self.put(name, data)
        try:
            same = await self.get(name) == data
        except FileMissing:
            same = False
        if not same:
            raise self._unfaithful()

    def _unfaithful(self) -> FilesRefused:
        return FilesRefused(
            f"A file written to {self.address} reads back with different content. Check the disk or the bucket."
        )

    @abstractmethod
    async def get(self, name: str) -> bytes:
        """Read a file. Raises FileMissing."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Remove a file and the remains of an interrupted `put`. Does nothing if the file does not exist."""

    @abstractmethod
    async def prepare(self) -> None:
        """Create the folder if it is missing. Call this only if no row refers to a file in this place.

        If a row refers to such a file, a missing folder is probably not mounted, and a new folder would hide that.
        """

    async def check(self) -> None:
        """Write a file, read it and remove it. Raises FilesUnavailable if any of this fails.

        There are several attempts, because another process may be doing the same and remove the file.
        """
        refused = self._unfaithful()
        for _ in range(TRIALS):
            written = secrets.token_bytes(TRIAL_BYTES)
            try:
                await self.put(TRIAL, written)
                read = await self.get(TRIAL)
            except FileMissing:
                continue
            except FilesRefused as error:
                refused = error
                continue
            if len(read) == TRIAL_BYTES:
                await self.delete(TRIAL)
                return
        raise refused


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """The endpoint and credentials of buckets. Empty fields are looked up in the usual places of AWS tools."""

    endpoint: str = ""
    region: str = ""
    key_id: str = ""
    secret: str = ""
    session_token: str = ""
