"""A place outside the database that keeps files under names of ours."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass

from bookgen.errors import FilesUnavailable

BUCKET = "s3://"
TRIAL, TRIAL_BYTES, TRIALS = "0" * 40, 32, 5  # one name for all trials, so that none is left behind for ever


class FileMissing(Exception):
    """The place has no file of this name."""


class FilesRefused(FilesUnavailable):
    """The place refuses access until someone changes it or the settings; retrying does not help."""


class FilePlace(ABC):
    """Files by name. Each call raises FilesUnavailable if the place can't be reached or refuses.

    A name is 40 hexadecimal digits, drawn at random.
    """

    def __init__(self, address: str) -> None:
        """`address`: how rows of the database name this place."""
        self.address = address

    @abstractmethod
    async def put(self, name: str, data: bytes) -> None:
        """Write a file. Once this returns, the file is durable and whole."""

    async def put_checked(self, name: str, data: bytes) -> None:
        """Write a file and read it back. Raises FilesRefused if it is not what was written."""
        await self.put(name, data)
        try:
            same = await self.get(name) == data
        except FileMissing:
            same = False
        if not same:
            raise self._unfaithful()

    def _unfaithful(self) -> FilesRefused:
        return FilesRefused(f"{self.address} does not give back what was written to it.")

    @abstractmethod
    async def get(self, name: str) -> bytes:
        """Read a file. Raises FileMissing."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Remove a file and whatever an interrupted `put` has left of it. None is no error."""

    @abstractmethod
    async def prepare(self) -> None:
        """Make a folder that is not there. Only for a place that has no files yet: one that has some is not mounted."""

    async def try_out(self) -> None:
        """Write a file, read it and remove it. Raises FilesUnavailable if one of it fails.

        It is tried several times, because another process may try the same and remove the file.
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
    """How buckets are reached. What is empty is found as AWS tools find it: in the environment or by the machine."""

    endpoint: str = ""
    region: str = ""
    key_id: str = ""
    secret: str = ""
    session_token: str = ""
