"""A backup and the way back, as an operator makes them: two commands on two data folders."""

from __future__ import annotations

from pathlib import Path

from tests.service import run

TOLD = {"BOOKGEN_BACKUP_PASSPHRASE": "a grey weighbridge in the rain"}


async def test_a_drilled_backup_restores_into_an_empty_folder_and_its_runs_wait(tmp_path: Path) -> None:
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "books.backup"
    first.mkdir()
    second.mkdir()
    book = ("write", "The Salt Road", "--chapters", "1", "--words", "60", "--format", "epub", "--out", str(tmp_path))
    assert (await run(first, *book, **TOLD))[0] == 0

    code, out, errors = await run(first, "backup", str(file), **TOLD)
    assert code == 0, errors
    assert "the EPUB of book 1 is byte-equal" in out

    damaged = tmp_path / "damaged.backup"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    code, _, errors = await run(second, "restore", str(damaged), **TOLD)
    assert code == 2
    assert "damaged.backup was changed after it was made" in errors

    assert (await run(second, "restore", str(file), **TOLD))[0] == 0
    code, _, errors = await run(second, "restore", str(file), **TOLD)
    assert code == 2
    assert "The target is not empty" in errors
    assert "runs of the restored copy continue" in (await run(second, "runs", "resume", "--all", **TOLD))[1]
