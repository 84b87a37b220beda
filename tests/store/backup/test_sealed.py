"""The file of a backup: whatever is not the whole file under its own passphrase is refused by name."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from bookgen.errors import StartupError
from bookgen.store.backup import sealed
from bookgen.store.backup.sealed import LENGTH_BYTES, MAGIC, START_BYTES, SealedReader, SealedWriter

PATH = Path("books.backup")
PASSPHRASE = "a grey weighbridge in the rain"
TEXT = b"The road was white. " * 12
CHUNK = 64


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks and a quick hash, so that every byte of a file with several chunks can be tried."""
    monkeypatch.setattr(sealed, "CHUNK_BYTES", CHUNK)
    monkeypatch.setattr(sealed, "SCRYPT", {**sealed.SCRYPT, "n": 2})


def written(text: bytes = TEXT, passphrase: str = PASSPHRASE) -> bytes:
    file = io.BytesIO()
    writer = SealedWriter(file, passphrase)
    writer.write(text)
    writer.close()
    return file.getvalue()


def read(content: bytes, passphrase: str = PASSPHRASE) -> bytes:
    reader = SealedReader(io.BytesIO(content), PATH, passphrase)
    text = reader.read(len(TEXT))
    reader.read_to_end()
    return text


def refusal(content: bytes, passphrase: str = PASSPHRASE) -> str:
    with pytest.raises(StartupError) as refused:
        read(content, passphrase)
    return str(refused.value)


def chunks(content: bytes) -> list[bytes]:
    """The chunks of a file, each with its length before it."""
    found, at = [], START_BYTES
    while at < len(content):
        end = at + LENGTH_BYTES + int.from_bytes(content[at:][:LENGTH_BYTES], "big")
        found.append(content[at:end])
        at = end
    return found


def test_what_was_written_is_read() -> None:
    assert read(written()) == TEXT
    assert len(chunks(written())) == 4


def test_every_flipped_bit_is_found_and_the_file_named() -> None:
    content = written()

    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        assert "books.backup" in refusal(bytes(damaged)), place


def test_every_cut_is_found_also_between_two_chunks() -> None:
    content = written()

    for length in range(len(MAGIC), len(content)):
        assert "books.backup is cut off after" in refusal(content[:length]), length


def test_another_passphrase_is_told_from_a_damaged_file() -> None:
    assert refusal(written(), "another passphrase") == "The passphrase is not the one that books.backup was made with."


def test_a_file_of_something_else_or_of_another_version_is_named() -> None:
    assert refusal(b"PK\3\4" + bytes(200)) == "books.backup is not a backup of bookgen."
    assert "made by another version of bookgen" in refusal(written().replace(MAGIC, b"bookgen backup 9\n"))


def test_no_chunk_can_be_moved_repeated_left_out_or_brought_from_another_backup() -> None:
    content = written()
    start, (first, second, third, last) = content[:START_BYTES], chunks(content)
    foreign = chunks(written())[1]

    for made in (
        [second, first, third, last], [first, first, second, third, last], [first, third, last],
        [first, foreign, third, last], [last],
    ):  # fmt: skip
        assert "books.backup was changed after it was made" in refusal(start + b"".join(made))
    assert "books.backup has extra bytes after the end of the backup" in refusal(content + first)
