"""The clusters in a data folder. `pgN` is a cluster of PostgreSQL's major version N. The newest one is the database."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from urllib.parse import quote

from bookgen.errors import NoDatabase
from bookgen.store.postgres import binaries, roles
from bookgen.store.postgres.account import Runner
from bookgen.store.postgres.postmaster import Postmaster


def majors(root: Path) -> list[int]:
    """The major versions of the clusters in the folder, oldest first. The last one is the database."""
    if not root.exists():
        return []
    return sorted(int(path.name[2:]) for path in root.iterdir() if re.fullmatch(r"pg\d+", path.name))


def current_major(root: Path) -> int | None:
    """The major version of the database in the folder, or None. Only programs of that version can open it."""
    return max(majors(root), default=None)


def has_cluster(root: Path) -> bool:
    """Whether the data folder has a database."""
    return current_major(root) is not None


def require_cluster(root: Path) -> None:
    """Raise NoDatabase if the data folder has no database."""
    if not has_cluster(root):
        raise NoDatabase(
            f"There is no database in {root.resolve()}. Set BOOKGEN_DATA_DIR to the data folder of the service, or "
            "start the service first."
        )


def init_cluster(server: Postmaster, password: str) -> None:
    """Create the server's cluster if it does not exist."""
    if (server.data / "PG_VERSION").exists():
        return
    # Created under another name and renamed, so that an interrupted initdb leaves no partial cluster.
    new = server.data.with_suffix(".new")
    make_cluster(new, server.programs, server.runner, password)
    new.rename(server.data)


def make_cluster(folder: Path, programs: Path, runner: Runner, password: str) -> None:
    """Create an empty cluster in the folder. What the folder contained is deleted."""
    runner.empty_folder(folder)
    locale = ["--locale-provider=builtin"] if binaries.major(programs) >= 17 else []
    with tempfile.TemporaryDirectory() as aside:
        file = Path(aside) / "password"
        file.write_text(password)
        runner.own(file)
        runner.own(Path(aside))
        options = ["-U", roles.SUPERUSER, "-E", "UTF8", *locale, "--locale=C.UTF-8", "--auth=scram-sha-256"]
        options += [f"--pwfile={file}", "--no-instructions"]
        with runner.reaching(folder) as (path, descriptors):
            runner.run([str(programs / "initdb"), "-D", path, *options], descriptors)


def dsn_of(role: str, password: str, folder: str) -> str:
    """The DSN of the database whose server has its socket in `folder`."""
    return f"postgresql://{role}:{quote(password)}@/postgres?host={quote(folder)}&port=5432"
