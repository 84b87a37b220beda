"""`bookgen files move`, a backup and the way back, as an operator runs them, with `kill -9` in between."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryFile

import asyncpg
import pytest

from bookgen.commands import check
from bookgen.errors import StartupError
from bookgen.files.cleanup import sweep
from bookgen.files.keeping import Files
from bookgen.files.opened_places import Places
from bookgen.files.place import BucketAccess
from bookgen.settings import names
from bookgen.store import stored_files
from bookgen.store.database import Database
from tests.composition import composed, settings
from tests.fakes.s3_server import KEY_ID, REGION, SECRET, S3Server
from tests.files.conftest import add_book, add_picture
from tests.programs import Program
from tests.service import environment, run

PASSPHRASE = {"BOOKGEN_BACKUP_PASSPHRASE": "a grey weighbridge in the rain"}
PICTURES = {f"picture {at}".encode() for at in range(4)}
TARGET = "s3://books/of/ada"


async def fill(pool: asyncpg.Pool, files: Files) -> dict[str, bytes]:
    """A book with pictures and an export. Returns the pictures by their keys."""
    book_id = await add_book(pool)
    await files.keep_export(pool, book_id, "digest", "pdf", b"%PDF")
    return {await add_picture(pool, book_id, await files.keep(pool, each)): each for each in PICTURES}


async def killed_at(server: S3Server, nth: int, folder: Path, *arguments: str, **told: str) -> None:
    """Run a command, and kill it with SIGKILL before its nth PUT is answered."""
    reached, puts = asyncio.Event(), 0

    async def hang(method: str, _key: str) -> None:
        nonlocal puts
        puts += method == "PUT"
        if puts == nth:
            reached.set()
            await asyncio.Event().wait()

    server.before = hang
    with TemporaryFile() as said:
        program = await Program.start(
            arguments, folder=folder, environment=environment(folder, **told), out=said.fileno(), err=said.fileno()
        )
    async with asyncio.timeout(60):
        await reached.wait()
    program.kill()
    await program.wait()
    server.before = None


async def test_a_move_that_was_killed_is_run_again_and_says_what_to_set(
    pool: asyncpg.Pool,
    dsn: str,
    server: S3Server,
    places: Places,
    tmp_path: Path,
) -> None:
    keys, told = await fill(pool, Files()), {**server.environment, "BOOKGEN_DATABASE_URL": dsn}

    await killed_at(server, 4, tmp_path, "files", "move", TARGET, **told)
    code, out, errors = await run(tmp_path, "files", "move", TARGET, **told)

    assert code == 0, errors
    assert out.splitlines()[0].endswith(f"MB, to {TARGET}.")
    assert f"Now set BOOKGEN_FILES={TARGET} for every process of the service and restart it." in out
    assert {key: await Files(places).picture(pool, key) for key in keys} == keys
    assert await pool.fetchval("SELECT count(*) FROM media WHERE body IS NOT NULL") == 0
    code, out, _ = await run(tmp_path, "files", "move", TARGET, BOOKGEN_FILES=TARGET, **told)
    assert (code, out) == (0, f"Moved 0 files, 0.0 MB, to {TARGET}.\nBOOKGEN_FILES is already {TARGET}.\n")


async def test_a_move_to_what_is_no_place_is_refused(dsn: str, tmp_path: Path) -> None:
    code, _, errors = await run(tmp_path, "files", "move", "s3:/books", BOOKGEN_DATABASE_URL=dsn)

    assert (code, errors) == (
        2, "bookgen: TARGET must be database, a folder or s3://bucket/prefix (got 's3:/books').\n",
    )  # fmt: skip


async def test_a_move_accepts_missing_pictures_only_if_it_is_told_to(
    pool: asyncpg.Pool, dsn: str, server: S3Server, places: Places, tmp_path: Path
) -> None:
    await fill(pool, Files(places, TARGET))
    told, move = {**server.environment, "BOOKGEN_DATABASE_URL": dsn}, ("files", "move", "database")
    gone = next(key for key, body in server.objects.items() if body in PICTURES)
    server.objects.pop(gone)

    code, out, errors = await run(tmp_path, *move, **told)

    assert (code, "A picture of book" in errors) == (1, False)
    assert "Pictures that were not moved, because their files are missing or damaged: 1. Put the" in out
    assert "or run the command with --without-missing to list and accept them." in out

    code, _, errors = await run(tmp_path, *move, "--without-missing", **told)

    assert code == 3
    assert f"bookgen: A picture of book 1 is missing or damaged: {gone.rpartition('/')[2]} in {TARGET}.\n" in errors

    await pool.execute("UPDATE stored_file SET place = $1", stored_files.LOST)  # as in a restored copy
    code, _, errors = await run(tmp_path, *move, "--without-missing", **told)

    assert code == 0
    assert "A picture of book 1 was missing in the backup that this database was restored from.\n" in errors


async def test_a_backup_has_the_files_and_its_copy_has_files_of_its_own(
    pool: asyncpg.Pool,
    dsn: str,
    empty_dsn: str,
    server: S3Server,
    places: Places,
    tmp_path: Path,
) -> None:
    keys, backup = await fill(pool, Files(places, TARGET)), str(tmp_path / "books.backup")
    told = {**server.environment, **PASSPHRASE, "BOOKGEN_SECRET_KEY": "k" * 32, "BOOKGEN_DATABASE_URL": dsn}
    code, out, errors = await run(tmp_path, "backup", backup, "--no-drill", **told)
    assert code == 0, errors
    assert "5 files of books" in out
    originals = dict(server.objects)
    server.objects.update({f"copy/{'0' * 40}": b"not ours"})

    there = told | {"BOOKGEN_DATABASE_URL": empty_dsn, "BOOKGEN_FILES": "s3://books/copy"}
    await killed_at(server, 3, tmp_path, "restore", backup, **there)
    assert len(server.objects) > len(originals) + 1
    code, _, errors = await run(tmp_path, "restore", backup, **there)

    assert code == 0, errors
    copy = await asyncpg.create_pool(empty_dsn, min_size=1, max_size=2)
    assert {key: await Files(places).picture(copy, key) for key in keys} == keys
    assert len(server.objects) == len(originals) + 6  # nothing is left of the restore that was killed
    await copy.execute("DELETE FROM book")
    assert await sweep(copy, Files(places)) == 5
    assert server.objects == originals | {f"copy/{'0' * 40}": b"not ours"}
    await copy.close()


async def test_a_restore_that_is_refused_removes_no_file(
    pool: asyncpg.Pool, dsn: str, server: S3Server, places: Places, tmp_path: Path
) -> None:
    """A power failure can bring back the journal of a restore that was committed."""
    keys, backup = await fill(pool, Files(places, TARGET)), str(tmp_path / "books.backup")
    told = {**server.environment, **PASSPHRASE, "BOOKGEN_SECRET_KEY": "k" * 32, "BOOKGEN_DATABASE_URL": dsn}
    assert (await run(tmp_path, "backup", backup, "--no-drill", **told))[0] == 0
    journal = tmp_path / "data" / "restore-former" / "journal"
    journal.parent.mkdir(parents=True)
    journal.write_text("".join(f"{key.rpartition('/')[2]} {TARGET}\n" for key in server.objects))

    code, _, errors = await run(tmp_path, "restore", backup, **told)

    assert (code, "The target is not empty" in errors) == (2, True)
    assert {key: await Files(places).picture(pool, key) for key in keys} == keys


async def test_a_restore_to_a_place_that_refuses_names_it(
    pool: asyncpg.Pool, dsn: str, empty_dsn: str, tmp_path: Path
) -> None:
    await add_book(pool)
    backup, file = str(tmp_path / "books.backup"), tmp_path / "file"
    told = {**PASSPHRASE, "BOOKGEN_SECRET_KEY": "k" * 32, "BOOKGEN_DATABASE_URL": dsn}
    assert (await run(tmp_path, "backup", backup, "--no-drill", **told))[0] == 0
    file.touch()

    there = told | {"BOOKGEN_DATABASE_URL": empty_dsn, "BOOKGEN_FILES": f"{file}/files"}
    code, _, errors = await run(tmp_path, "restore", backup, **there)

    why = f"The folder {file}/files can't be used: Not a directory."
    assert (code, errors) == (1, f"bookgen: The backup could not be restored: {why}\n")


async def test_a_backup_without_a_picture_is_not_made(
    pool: asyncpg.Pool,
    dsn: str,
    server: S3Server,
    places: Places,
    tmp_path: Path,
) -> None:
    await fill(pool, Files(places, TARGET))
    told = {**server.environment, **PASSPHRASE, "BOOKGEN_SECRET_KEY": "k" * 32, "BOOKGEN_DATABASE_URL": dsn}
    lost = next(key for key, body in server.objects.items() if body in PICTURES)
    server.objects.pop(lost)

    code, _, errors = await run(tmp_path, "backup", str(tmp_path / "books.backup"), "--no-drill", **told)

    assert code == 1
    assert f"is missing: {lost.rpartition('/')[2]} in {TARGET}" in errors
    assert not (tmp_path / "books.backup").exists()
    assert "Or back up everything else with --without-missing." in errors


async def test_a_backup_without_what_is_missing_says_so_and_restores_everything_else(
    pool: asyncpg.Pool, dsn: str, empty_dsn: str, server: S3Server, places: Places, tmp_path: Path
) -> None:
    keys, backup = await fill(pool, Files(places, TARGET)), str(tmp_path / "books.backup")
    told = {**server.environment, **PASSPHRASE, "BOOKGEN_SECRET_KEY": "k" * 32, "BOOKGEN_DATABASE_URL": dsn}
    lost = list(keys)[-1]
    name = await pool.fetchval("SELECT name FROM media JOIN stored_file f ON f.id = file_id WHERE key = $1", lost)
    server.objects.pop(f"of/ada/{name}")
    (tmp_path / "data").mkdir()  # for the drill

    code, out, errors = await run(tmp_path, "backup", backup, "--without-missing", **told)

    assert code == 3, errors
    assert errors == f"bookgen: A picture of book 1 is missing: {name} in {TARGET}.\n"
    assert "The backup is incomplete. Pictures that are missing or damaged: 1." in out
    assert "Verified by a trial restore in" in out

    there = told | {"BOOKGEN_DATABASE_URL": empty_dsn, "BOOKGEN_FILES": "s3://books/copy"}
    code, out, errors = await run(tmp_path, "restore", backup, **there)
    assert code == 0, errors
    assert "Pictures that were missing when the backup was made: 1." in out
    async with asyncpg.create_pool(empty_dsn, min_size=1, max_size=2) as copy:
        files = Files(places, "s3://books/copy")
        assert {key: await files.picture(copy, key) for key in keys} == keys | {lost: None}
        await files.check_place("s3://books/copy", lambda: stored_files.samples(copy))
        # What no backup of the copy can have makes none of them incomplete.
        assert (await run(tmp_path, "backup", f"{backup}.2", "--no-drill", **there))[::2] == (0, "")
        others = {key for key in server.objects if key.startswith("of/ada/")}
        await copy.execute("DELETE FROM book")
        assert await sweep(copy, files) == 5
        assert set(server.objects) == others


@pytest.fixture
def bucket(server: S3Server) -> dict[str, object]:
    access = {"aws_access_key_id": KEY_ID, "aws_secret_access_key": SECRET, "aws_region": REGION}
    return {"files": TARGET, "s3_endpoint": server.url, **access}


async def test_the_check_tries_the_place_and_says_what_is_elsewhere(
    pool: asyncpg.Pool,
    dsn: str,
    server: S3Server,
    bucket: dict[str, object],
    tmp_path: Path,
) -> None:
    told = settings(tmp_path, database_url=dsn, **bucket)
    assert await check.files(told) == f"{TARGET} can be written and read"
    assert [method for method, _ in server.calls] == ["PUT", "GET", "DELETE"]

    folder = str(tmp_path / "files")
    (tmp_path / "files").mkdir()
    await fill(pool, Files(Places(), folder))
    assert await check.files(told) == (
        f"{TARGET} can be written and read; older files are still in {folder}: run bookgen files move"
    )
    (tmp_path / "files").rename(tmp_path / "unmounted")
    with pytest.raises(StartupError, match=f"The folder {folder} can't be used: No such file or directory"):
        await check.files(told)
    (tmp_path / "files").mkdir()
    with pytest.raises(StartupError, match=f"The file [0-9a-f]{{40}} should be stored in {folder}, but is not there."):
        await check.files(told)


async def test_the_start_is_refused_by_a_place_that_refuses_and_not_by_one_that_is_away(
    pool: asyncpg.Pool,
    database: Database,
    server: S3Server,
    bucket: dict[str, object],
    tmp_path: Path,
) -> None:
    async def start(**told: object) -> str | None:
        async with composed(database, tmp_path, **told) as service:
            return service.services.files.address

    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match=f"BOOKGEN_FILES={tmp_path}/file can't be used: .* Not a directory"):
        await start(files=str(tmp_path / "file"))
    with pytest.raises(
        StartupError, match="BOOKGEN_FILES=s3://other can't be used: The bucket of s3://other does not exist"
    ):
        await start(**{**bucket, "files": "s3://other"})
    with pytest.raises(StartupError, match=f"BOOKGEN_FILES={TARGET} can't be used: {TARGET} refuses this server"):
        await start(**{**bucket, "aws_secret_access_key": "wrong"})

    assert await start(**{**bucket, "s3_endpoint": "http://127.0.0.1:9"}) == TARGET
    assert await start(files=str(tmp_path / "files")) == str(tmp_path / "files")
    assert not server.objects


async def test_a_start_is_refused_where_the_folder_with_the_files_is_not_mounted(
    pool: asyncpg.Pool, database: Database, tmp_path: Path
) -> None:
    """A new folder in its place would hide what is stored until the mount is back."""
    (tmp_path / "files").mkdir()
    await fill(pool, Files(Places(), str(tmp_path / "files")))
    (tmp_path / "files").rename(tmp_path / "unmounted")

    with pytest.raises(StartupError, match="No such file or directory"):
        async with composed(database, tmp_path, files=str(tmp_path / "files")):
            pass
    assert not (tmp_path / "files").exists()

    (tmp_path / "files").mkdir()  # the mount point
    with pytest.raises(StartupError, match=r"The file [0-9a-f]{40} should be stored in .*, but is not there."):
        async with composed(database, tmp_path, files=str(tmp_path / "files")):
            pass


def test_every_variable_of_the_bucket_is_a_setting() -> None:
    assert set(BucketAccess.__dataclass_fields__) == {"endpoint", "region", "key_id", "secret", "session_token"}
    assert {name for name in names().values() if name.startswith("AWS_")} == {
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
    }  # fmt: skip
