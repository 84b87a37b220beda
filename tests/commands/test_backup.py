"""Backup and restore, as an operator does them: two commands on two data folders."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from tests.service import run

IS_WHOLE = """
    SELECT EXISTS (SELECT FROM restored_copy WHERE continued_at IS NULL)
       AND (SELECT count(*) = 1 AND bool_and(c.content <> '' AND b.title = 'The Salt Road')
              FROM chapter c JOIN book b ON b.id = c.book_id)
"""
TOLD = {"BOOKGEN_BACKUP_PASSPHRASE": "a grey weighbridge in the rain"}


async def test_a_verified_backup_restores_into_an_empty_folder_or_database_and_its_runs_wait(
    tmp_path: Path, empty_dsn: str
) -> None:
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

    third = tmp_path / "third"
    third.mkdir()
    by_url = {**TOLD, "BOOKGEN_DATABASE_URL": empty_dsn}
    code, out, errors = await run(third, "restore", str(file), **by_url)
    assert code == 0, errors
    assert (third / "data/secret.key").read_bytes() == (first / "data/secret.key").read_bytes()
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval(IS_WHOLE)
    await connection.close()
    code, _, errors = await run(third, "restore", str(file), **by_url)
    assert code == 2
    assert "Make a new database and set BOOKGEN_DATABASE_URL to it." in errors
