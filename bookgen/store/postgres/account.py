"""The user account that the embedded server runs as. PostgreSQL refuses root, so root uses an unprivileged account."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict

from bookgen.errors import StartupError

UNPRIVILEGED = ("postgres", "nobody")
COPIES = Path("/var/cache/bookgen")


class Credentials(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


class UnixUser(NamedTuple):
    """The ids of a user of this machine. In a container, the user may have no name."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Runner:
    """Runs PostgreSQL's programs and creates folders, as the user `account` or, if that is None, the current user."""

    account: UnixUser | None

    @classmethod
    def for_folder(cls, *owned: Path) -> Runner:
        """Make the runner for a data folder. `owned`: paths in it whose owner the server should run as.

        If the current user is not root, everything runs as the current user. If it is root, everything runs as the
        owner of the first of these paths that does not belong to root, or else as the user `postgres` or `nobody`. So
        root can run a command on the folder of a service that runs as another user. Raises StartupError if there is no
        such user.
        """
        if os.geteuid() != 0:
            return cls(None)
        for path in owned:
            if path.exists() and (status := path.stat()).st_uid != 0:
                return cls(UnixUser(status.st_uid, status.st_gid))
        for name in UNPRIVILEGED:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return cls(UnixUser(entry.pw_uid, entry.pw_gid))
        raise StartupError(
            "PostgreSQL does not run as root and there is no account 'postgres' or 'nobody' to run it as. "
            "Start bookgen as an ordinary user, or set BOOKGEN_DATABASE_URL."
        )

    @property
    def credentials(self) -> Credentials:
        if self.account is None:
            return {}
        return {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        if self.account is not None:
            os.chown(path, *self.account)

    def empty_folder(self, path: Path) -> Path:
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)
        self.own(path)
        return path

    def private_folder(self, path: Path, mode: int = 0o700) -> Path:
        """Create a folder that belongs to the account. Raises StartupError if the folder belongs to another user."""
        path.mkdir(mode=mode, exist_ok=True)
        status = path.lstat()
        owners = {os.geteuid()} | ({self.account.uid} if self.account else set())
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
            raise StartupError(f"{path} belongs to another user. Remove it.")
        path.chmod(mode)
        self.own(path)
        return path

    @contextlib.contextmanager
    def reaching(self, folder: Path, *, short: bool = False) -> Iterator[tuple[str, tuple[int, ...]]]:
        """A context with a path to `folder` for a program run as the account, and the descriptors that it must inherit.

        The account may not be allowed to enter the parent folders (a home has mode 0700). So the path goes through an
        open descriptor of the folder, which must be passed to the program. `short`: use the path through the descriptor
        even if the account is None, because that path is short.
        """
        if sys.platform != "linux" or not (self.account or short):
            yield str(folder), ()
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{descriptor}", (descriptor,)
        finally:
            os.close(descriptor)

    def run(self, command: Sequence[str], descriptors: Sequence[int] = ()) -> None:
        try:
            subprocess.run(
                command, check=True, capture_output=True, text=True, cwd="/", pass_fds=descriptors, **self.credentials
            )
        except subprocess.CalledProcessError as error:
            raise StartupError(f"{Path(command[0]).name} failed: {failure(error.stderr)}") from error

    def executable(self, bindir: Path) -> Path:
        """The folder `bindir`, or a copy of it if the account cannot execute the original."""
        if self.account is None or self._can_execute(bindir):
            return bindir
        package = bindir.parents[1]
        made = f"{bindir}:{(bindir / 'postgres').stat().st_mtime_ns}"
        target = COPIES / hashlib.sha256(made.encode()).hexdigest()[:16]
        if not target.exists():
            _copy_package(package, target)
        return target / package.name / bindir.relative_to(package)

    def _can_execute(self, bindir: Path) -> bool:
        try:
            self.run([str(bindir / "postgres"), "--version"])
        except (PermissionError, StartupError):
            return False
        return True


def failure(stderr: str) -> str:
    """The line that says why a program of PostgreSQL failed. Other lines are hints and notes about cleaning up."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    failed = [line for line in lines if re.search(r"\b(FATAL|PANIC|error|could not)\b", line)]
    return (failed or lines or ["it printed no error"])[0]


def _copy_package(package: Path, target: Path) -> None:
    """Copy the package atomically. The layout is kept, because the programs find their libraries by relative paths."""
    try:
        COPIES.mkdir(parents=True, exist_ok=True, mode=0o755)
        with tempfile.TemporaryDirectory(dir=COPIES) as aside:
            folder = Path(aside) / "package"
            folder.mkdir(mode=0o755)
            for source in (package, package.with_name(f"{package.name}.libs")):
                if source.is_dir():
                    shutil.copytree(source, folder / source.name, symlinks=True)
            with contextlib.suppress(FileExistsError):
                folder.rename(target)
    except OSError as error:
        raise StartupError(
            f"the account that PostgreSQL runs as cannot execute {package}, and {COPIES} cannot be written: {error}. "
            "Set BOOKGEN_PG_BINDIR or BOOKGEN_DATABASE_URL."
        ) from error
