"""The place of lost files. They were missing when the backup was made that this database was restored from."""

from __future__ import annotations

from bookgen.files.place import FileMissing, FilePlace, FilesRefused


class LostFiles(FilePlace):
    async def prepare(self) -> None:
        raise FilesRefused("Lost files cannot be stored.")

    async def put(self, name: str, data: bytes) -> None:
        raise FilesRefused("Lost files cannot be stored.")

    async def get(self, name: str) -> bytes:
        raise FileMissing

    async def delete(self, name: str) -> None:
        """Do nothing: the file does not exist."""
