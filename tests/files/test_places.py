"""Each place keeps what it is given, says when it can't, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bookgen.errors import FilesUnavailable
from bookgen.files.folder import PARTIAL, Folder
from bookgen.files.opened_places import Places
from bookgen.files.place import BucketAccess, FileMissing, FilesRefused
from tests.fakes.s3_server import KEY_ID, REGION, SECRET, S3Server

NAME, OTHER = "ab" * 20, "cd" * 20


async def test_a_place_gives_back_what_was_put_until_it_is_deleted(places: Places, address: str) -> None:
    place, large = places.at(address), bytes(range(256)) * 30_000
    await place.put(NAME, b"first")
    await place.put(NAME, large)  # as after a crash

    assert await place.get(NAME) == large
    await place.delete(NAME)
    await place.delete(NAME)
    with pytest.raises(FileMissing):
        await place.get(NAME)


async def test_a_trial_leaves_nothing_behind(places: Places, address: str, server: S3Server, tmp_path: Path) -> None:
    await places.at(address).check()

    assert not server.objects
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


async def test_objects_stand_under_the_prefix(places: Places, server: S3Server) -> None:
    await places.at("s3://books/of/ada").put(NAME, b"x")

    assert list(server.objects) == [f"of/ada/{NAME}"]


async def test_files_of_a_folder_are_for_its_owner_alone(tmp_path: Path) -> None:
    place = Folder(tmp_path / "deep" / "files")
    await place.prepare()
    await place.put(NAME, b"x")

    file = tmp_path / "deep/files/ab" / NAME
    assert [oct(path.stat().st_mode & 0o777) for path in (file, file.parent, file.parent.parent)] == [
        "0o600", "0o700", "0o700",
    ]  # fmt: skip


async def test_what_an_interrupted_write_has_left_goes_with_the_file(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    await place.put(OTHER, b"x")
    partial = tmp_path / "ab" / f"{NAME}{PARTIAL}"
    partial.parent.mkdir()
    partial.write_bytes(b"hal")

    await place.delete(NAME)

    assert not partial.exists()
    assert await place.get(OTHER) == b"x"


@pytest.mark.parametrize("call", ["put", "get", "delete", "check"])
async def test_a_folder_that_is_not_mounted_has_lost_no_file_and_is_not_made(tmp_path: Path, call: str) -> None:
    place = Folder(tmp_path / "unmounted")
    given: dict[str, tuple[object, ...]] = {"put": (NAME, b"x"), "check": ()}

    with pytest.raises(FilesUnavailable):
        await getattr(place, call)(*given.get(call, (NAME,)))

    assert not (tmp_path / "unmounted").exists()


async def test_two_processes_may_try_a_folder_at_the_same_time(tmp_path: Path) -> None:
    for _ in range(20):
        await asyncio.gather(*(Folder(tmp_path).check() for _ in range(2)))


async def test_a_folder_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(FilesRefused) as refused:
        await Folder(tmp_path / "file" / "files").prepare()

    assert refused.value.reason == f"The folder {tmp_path}/file/files can't be used: Not a directory."


@pytest.mark.parametrize(
    ("secret", "address", "said"),
    [
        ("wrong", "s3://books/x", "refuses this server"),
        (SECRET, "s3://other/x", "bucket of s3://other/x does not exist"),
    ],
)
@pytest.mark.parametrize("call", ["put", "get", "delete"])
async def test_a_bucket_that_refuses_says_so(server: S3Server, secret: str, address: str, said: str, call: str) -> None:
    place = Places(BucketAccess(server.url, REGION, KEY_ID, secret)).at(address)

    with pytest.raises(FilesRefused) as refused:
        await (place.put(NAME, b"x") if call == "put" else getattr(place, call)(NAME))

    assert said in refused.value.reason
    assert secret not in refused.value.reason
    assert "books" not in str(refused.value)  # which callers see


async def test_a_bucket_that_fails_is_asked_again(places: Places, server: S3Server) -> None:
    async def once(_method: str, _key: str) -> None:
        server.broken = 503 if len(server.calls) == 1 else 0

    server.before = once
    await places.at("s3://books").put(NAME, b"x")

    assert server.calls == [("PUT", NAME)] * 2
    assert server.objects == {NAME: b"x"}


# A named pipe that nobody writes to blocks its reader for ever, like a file of a network folder without its server.
READ = """
import asyncio, sys
from pathlib import Path
from bookgen.errors import FilesUnavailable
from bookgen.files import folder

async def main():
    folder.SECONDS = 0.2
    place = folder.Folder(Path(sys.argv[1]))
    await asyncio.gather(*(place.get(sys.argv[2]) for _ in range(folder.THREADS + 1)))

try:
    asyncio.run(main())
except FilesUnavailable as error:
    print(error.reason)
"""


def test_a_folder_that_hangs_does_not_delay_the_end_of_the_process(tmp_path: Path) -> None:
    (tmp_path / NAME[:2]).mkdir()
    os.mkfifo(tmp_path / NAME[:2] / NAME)

    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path), NAME], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == f"The folder {tmp_path} did not answer within 0.2 seconds.\n"
