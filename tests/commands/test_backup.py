"""Backup and restore, as an operator does them: two commands on two data folders."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from tests.service import run

IS_WHOLE = """
    SELECT EXISTS (SELECT FROM restored_copy WHERE continued_at IS NULL)
       AND (SELECT count(*) = 1 AND bool_and(c.content <> '' AND b.title = 'The Salt Road')
              FROM chapter c JOIN book b ON b.id = c.book_id)
"""
TOLD = {"BOOKGEN_BACKUP_PASSPHRASE": "a grey weighbridge in the rain"}
IS_IN_ROWS = "SELECT (SELECT count(*) FROM media WHERE body IS NOT NULL), (SELECT count(*) FROM stored_file)"


@pytest.mark.timeout(300)  # a dozen commands, each of which derives a key from the passphrase
async def test_a_verified_backup_restores_into_an_empty_folder_or_database_and_its_runs_wait(
    tmp_path: Path, empty_dsn: str
) -> None:
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "books.backup"
    first.mkdir()
    second.mkdir()
    book = ("write", "The Salt Road", "--chapters", "1", "--words", "60", "--format", "epub", "--out", str(tmp_path))
    in_folder = {**TOLD, "BOOKGEN_FILES": str(tmp_path / "files")}
    assert (await run(first, *book, **in_folder))[0] == 0

    code, out, errors = await run(first, "backup", str(file), **in_folder)
    assert code == 0, errors
    assert "5 files of books" in out
    assert "The EPUB of book 1 is the same from the restored copy as from the database." in out

    content = file.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    other = {"BOOKGEN_BACKUP_PASSPHRASE": "a white weighbridge in the sun"}
    for damaged, passphrase, refusal in (
        (bytes(flipped), TOLD, "damaged.backup was changed after it was made"),
        (content[: len(content) // 2], TOLD, "damaged.backup is cut off after"),
        (content, other, "The passphrase is not the one that"),
    ):
        (tmp_path / "damaged.backup").write_bytes(damaged)
        code, _, errors = await run(second, "restore", str(tmp_path / "damaged.backup"), **passphrase)
        assert (code, refusal in errors) == (2, True), errors
        assert not (second / "data").exists()

    assert (await run(second, "restore", str(file), **TOLD))[0] == 0
    code, _, errors = await run(second, "restore", str(file), **TOLD)
    assert code == 2
    assert "The target is not empty" in errors
    assert "runs of the restored backup continue" in (await run(second, "runs", "resume", "--all", **TOLD))[1]

    third = tmp_path / "third"
    third.mkdir()
    by_url = {**TOLD, "BOOKGEN_DATABASE_URL": empty_dsn}
    code, out, errors = await run(third, "restore", str(file), **by_url)
    assert code == 0, errors
    assert (third / "data/secret.key").read_bytes() == (first / "data/secret.key").read_bytes()
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval(IS_WHOLE)
    assert tuple(await connection.fetchrow(IS_IN_ROWS)) == (2, 0)
    await connection.close()
    code, _, errors = await run(third, "restore", str(file), **by_url)
    assert code == 2
    assert "Make a new database and set BOOKGEN_DATABASE_URL to it." in errors
