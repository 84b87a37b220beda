"""The place of files that were missing when the backup was made from which the database was restored."""

from __future__ import annotations

from bookgen.files.place import FileMissing, FilePlace, FilesRefused


class LostFiles(FilePlace):
    async def prepare(self) -> None:
        raise FilesRefused("Lost files have no place.")

    async def put(self, name: str, data: bytes) -> None:
        raise FilesRefused("Lost files have no place.")

    async def get(self, name: str) -> bytes:
        raise FileMissing

    async def delete(self, name: str) -> None:
        """Nothing: it is not there."""
