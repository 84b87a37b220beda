"""The file of a backup: compressed, encrypted and authenticated in chunks, so that it is written and read as a stream.

    file   = MAGIC, salt, check of the passphrase, checksum of these; then chunks
    chunk  = the length of its ciphertext in four bytes; ciphertext

The nonce of a chunk is its number and whether it is the last one, so that no chunk can be left out, repeated, moved or
cut off. Every chunk also authenticates the file's beginning.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from bookgen.errors import StartupError

FAMILY = b"bookgen backup "
MAGIC = FAMILY + b"1\n"
SALT_BYTES, CHECK_BYTES, CHECKSUM_BYTES, KEY_BYTES, LENGTH_BYTES = 16, 32, 8, 32, 4
START_BYTES = len(MAGIC) + SALT_BYTES + CHECK_BYTES + CHECKSUM_BYTES
CHUNK_BYTES = 1 << 20
MAX_CHUNK_BYTES = 2 * CHUNK_BYTES  # compression can make a chunk a little longer
LEVEL = 1  # of compression: shrinks text to a third of its size, as fast as a disk writes
# 128 MB of memory and half a second for each guess of a passphrase.
SCRYPT = {"length": 2 * KEY_BYTES, "n": 2**17, "r": 8, "p": 1}


class SealedWriter:
    """Writes a sealed file, which is complete only after `close`."""

    def __init__(self, file: BinaryIO, passphrase: str) -> None:
        salt = secrets.token_bytes(SALT_BYTES)
        self._file = file
        self._cipher, check = _keys(passphrase, salt)
        self._start = _with_checksum(MAGIC + salt + check)
        self._pending = bytearray()
        self._number = 0
        file.write(self._start)

    def write(self, data: bytes) -> None:
        self._pending += data
        while len(self._pending) > CHUNK_BYTES:
            self._seal(bytes(self._pending[:CHUNK_BYTES]), last=False)
            del self._pending[:CHUNK_BYTES]

    def close(self) -> None:
        """Write the last chunk. The file itself stays open."""
        self._seal(bytes(self._pending), last=True)
        self._pending.clear()

    def _seal(self, data: bytes, *, last: bool) -> None:
        sealed = self._cipher.encrypt(_nonce(self._number, last), zlib.compress(data, LEVEL), self._start)
        self._file.write(len(sealed).to_bytes(LENGTH_BYTES, "big") + sealed)
        self._number += 1


class SealedReader:
    """Reads a sealed file. Every StartupError that it raises names the file and what is wrong with it."""

    def __init__(self, file: BinaryIO, path: Path, passphrase: str) -> None:
        self._file = file
        self._path = path
        self._start = self._read_start()
        salt = self._start[len(MAGIC) :][:SALT_BYTES]
        self._cipher, check = _keys(passphrase, salt)
        if not hmac.compare_digest(check, self._start[len(MAGIC) + SALT_BYTES :][:CHECK_BYTES]):
            raise StartupError(f"The passphrase is not the one that {path} was made with.")
        self._chunks = self._opened()
        self._chunk, self._at = b"", 0

    def read(self, length: int) -> bytes:
        """The next `length` bytes. Raises StartupError if fewer are left, or if the file was cut off or changed."""
        data = self._chunk[self._at : self._at + length]
        self._at += len(data)
        while len(data) < length:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise StartupError(f"{self._path} ends too early. It was not written by this version of bookgen.")
            self._chunk, self._at = chunk, length - len(data)
            data += chunk[: self._at]
        return data

    def read_to_end(self) -> None:
        """Check that the rest of the file is complete and unchanged. Raises StartupError if it is not."""
        for _ in self._chunks:
            pass

    def _read_start(self) -> bytes:
        start = self._file.read(START_BYTES)
        if not start.startswith(FAMILY):
            raise StartupError(f"{self._path} is not a backup of bookgen.")
        if not start.startswith(MAGIC):
            raise StartupError(f"{self._path} was made by another version of bookgen. Restore it with that version.")
        if len(start) < START_BYTES:
            raise StartupError(f"{self._path} is cut off after {len(start)} bytes. Use another backup.")
        if _with_checksum(start[:-CHECKSUM_BYTES]) != start:
            raise StartupError(f"{self._path} was changed in its first {START_BYTES} bytes. Use another backup.")
        return start

    def _opened(self) -> Iterator[bytes]:
        number, last = 0, False
        while not last:
            at = self._file.tell()
            length = int.from_bytes(self._some(LENGTH_BYTES), "big")
            if length > MAX_CHUNK_BYTES:
                raise self._changed(at)
            sealed = self._some(length)
            last = not self._file.read(1)
            if not last:
                self._file.seek(-1, 1)
            yield self._open(sealed, number, last, at)
            number += 1

    def _some(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) < length:
            raise StartupError(f"{self._path} is cut off after {self._file.tell():,} bytes. Use another backup.")
        return data

    def _open(self, sealed: bytes, number: int, last: bool, at: int) -> bytes:
        try:
            return zlib.decompress(self._cipher.decrypt(_nonce(number, last), sealed, self._start))
        except InvalidTag:
            pass
        try:
            self._cipher.decrypt(_nonce(number, not last), sealed, self._start)
        except InvalidTag:
            raise self._changed(at) from None
        if last:  # an intact chunk, but not the last one of a file
            raise StartupError(f"{self._path} is cut off after {self._file.tell():,} bytes. Use another backup.")
        raise StartupError(f"{self._path} has extra bytes after the end of the backup. Use another backup.")

    def _changed(self, at: int) -> StartupError:
        return StartupError(f"{self._path} was changed after it was made, at or after byte {at:,}. Use another backup.")


def _keys(passphrase: str, salt: bytes) -> tuple[ChaCha20Poly1305, bytes]:
    """The cipher for the passphrase, and a check value that is stored in the file.

    If the check value in a file differs from the one computed here, the passphrase is wrong.
    """
    derived = Scrypt(salt=salt, **SCRYPT).derive(passphrase.encode())
    return ChaCha20Poly1305(derived[:KEY_BYTES]), hmac.digest(derived[KEY_BYTES:], MAGIC + salt, "sha256")


def _nonce(number: int, last: bool) -> bytes:
    """The twelve-byte nonce of a chunk. Each file has a new key, so a nonce is never used twice with the same key."""
    return number.to_bytes(11, "big") + bytes([last])


def _with_checksum(start: bytes) -> bytes:
    return start + hashlib.sha256(start).digest()[:CHECKSUM_BYTES]
