"""Opens the folders and buckets of stored files, by the addresses in the files' rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bookgen.files.folder import Folder
from bookgen.files.lost import LostFiles
from bookgen.files.place import BUCKET, BucketAccess, FilePlace
from bookgen.store.stored_files import LOST

DATABASE = "database"  # the value of BOOKGEN_FILES that stores files in the database


@dataclass(slots=True)
class Places:
    """Opens each place when it is first needed."""

    access: BucketAccess = field(default_factory=BucketAccess)
    _open: dict[str, FilePlace] = field(default_factory=dict)

    def at(self, address: str) -> FilePlace:
        """The place with this address."""
        if address not in self._open:
            self._open[address] = _place(address, self.access)
        return self._open[address]


def _place(address: str, access: BucketAccess) -> FilePlace:
    if address == LOST:
        return LostFiles(address)
    return _bucket(address, access) if address.startswith(BUCKET) else Folder(Path(address))


def _bucket(address: str, access: BucketAccess) -> FilePlace:
    from bookgen.files.bucket import Bucket  # slow to import, so only if there is a bucket

    return Bucket(address, access)


def address_of(setting: str) -> str | None:
    """Convert a value of BOOKGEN_FILES to the address in the row of each file; None if files are in the database."""
    if setting == DATABASE:
        return None
    if setting.startswith(BUCKET):
        return setting.rstrip("/")
    return str(Path(setting).expanduser().absolute())
