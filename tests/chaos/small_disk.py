"""A file system of a few megabytes for one process, mounted in its own namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

MOUNT = 'mount -t tmpfs -o size="$1",mode=700 tmpfs "$2" && shift 2 && exec "$@"'


def on_a_small_disk(folder: Path, size: int, command: Sequence[str]) -> list[str]:
    """`command` with `folder` on a disk of `size` bytes that no other process sees."""
    if os.geteuid() == 0:
        return ["unshare", "--mount", "sh", "-c", MOUNT, "sh", str(size), str(folder), *command]
    # Only root in a user namespace may mount. PostgreSQL refuses root, so a second namespace restores the user.
    back = ["unshare", "--user", f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}"]
    privileged = ["unshare", "--user", "--map-root-user", "--mount"]
    return [*privileged, "sh", "-c", MOUNT, "sh", str(size), str(folder), *back, *command]


def possible(folder: Path) -> bool:
    """Whether this machine allows it."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(on_a_small_disk(folder, 1 << 20, ["true"]), capture_output=True, check=False).returncode == 0
