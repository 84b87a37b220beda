"""The content of a sealed file: a sequence of frames, each with its kind and length.

A backup has these frames in order: one `manifest`; a `table` for each table; a `file` for each file of the data folder
that is backed up; a `stored` for each picture or export that is stored outside the database; one `trailer`. After each
`table`, `file` or `stored` frame, its content follows in `data` frames and an `end` frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from enum import Enum
from typing import Any

import orjson

from bookgen.errors import StartupError
from bookgen.store.backup.sealed import SealedReader, SealedWriter

HEAD_BYTES = 5


class FrameKind(Enum):
    MANIFEST = b"M"
    TABLE = b"T"
    FILE = b"F"
    STORED = b"S"
    DATA = b"D"
    END = b"E"
    TRAILER = b"Z"


class FrameWriter:
    def __init__(self, sealed: SealedWriter) -> None:
        self._sealed = sealed

    async def write_json(self, kind: FrameKind, content: Mapping[str, Any]) -> None:
        await self._write(kind, orjson.dumps(content))

    async def write_data(self, data: bytes) -> None:
        await self._write(FrameKind.DATA, data)

    async def _write(self, kind: FrameKind, content: bytes) -> None:
        frame = kind.value + len(content).to_bytes(HEAD_BYTES - 1, "big") + content
        await asyncio.to_thread(self._sealed.write, frame)  # which compresses and encrypts


class FrameReader:
    def __init__(self, sealed: SealedReader) -> None:
        self._sealed = sealed
        self.end: dict[str, Any] = {}  # the content of the last frame `end`

    async def next(self) -> tuple[FrameKind, bytes]:
        return await asyncio.to_thread(self._read)

    async def next_json(self) -> tuple[FrameKind, dict[str, Any]]:
        """The kind of the next frame, and its content decoded from JSON. The next frame must not be a `data` frame."""
        kind, content = await self.next()
        return kind, orjson.loads(content)

    async def read_to_end(self) -> None:
        """Check that the rest of the file is complete and unchanged. Raises StartupError if it is not."""
        await asyncio.to_thread(self._sealed.read_to_end)

    async def expect(self, kind: FrameKind) -> dict[str, Any]:
        """The content of the next frame. Raises StartupError if it is of another kind."""
        found, content = await self.next()
        if found is not kind:
            raise StartupError(
                f"The backup is not complete: it has {found.name} where {kind.name} is expected. Use another backup."
            )
        decoded: dict[str, Any] = orjson.loads(content)
        return decoded

    async def data(self) -> AsyncIterator[bytes]:
        """Yield the content of each `data` frame up to the next `end` frame, whose content is then in `self.end`."""
        while True:
            kind, content = await self.next()
            if kind is not FrameKind.DATA:
                self.end = orjson.loads(content)
                return
            yield content

    def _read(self) -> tuple[FrameKind, bytes]:
        head = self._sealed.read(HEAD_BYTES)
        return FrameKind(head[:1]), self._sealed.read(int.from_bytes(head[1:], "big"))
