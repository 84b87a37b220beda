"""The place that the rows of lost files refer to. It has no files, and no file can be stored in it.

A file is lost if it was missing from the backup from which this database was restored.
"""

from __future__ import annotations

from bookgen.files.place import FileMissing, FilePlace, FilesRefused


class LostFiles(FilePlace):
    async def prepare(self) -> None:
        raise FilesRefused("The place 'lost' only records files that are missing. Nothing can be stored in it.")

    async def put(self, name: str, data: bytes) -> None:
        raise FilesRefused("The place 'lost' only records files that are missing. Nothing can be stored in it.")

    async def get(self, name: str) -> bytes:
        raise FileMissing

    async def delete(self, name: str) -> None:
        """Do nothing: the file does not exist."""
