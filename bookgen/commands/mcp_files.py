"""Lets the MCP server save files in one folder only, because an agent may follow instructions in texts by others."""

from __future__ import annotations

import os
from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError

# Opens no existing file and follows no symbolic link. Windows has no O_NOFOLLOW.
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class ExportFolder:
    """Saves files below `root`, and nowhere else."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def save(self, folder: str, name: str, body: bytes, *, overwrite: bool) -> Path:
        """Write a file into `folder`, a path relative to the root or an absolute path below the root.

        Raises ToolError if the path leads out of the root or contains a symbolic link, if the file exists and
        `overwrite` is false, or if the file cannot be written.
        """
        target = self._target(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            if target.resolve() != target:  # another process has just replaced a folder by a link
                raise ToolError(f"{target} contains a symbolic link. Name a folder without symbolic links.")
            path = target / Path(name).name
            if overwrite and not path.is_symlink():
                path.unlink(missing_ok=True)
            with os.fdopen(os.open(path, NEW, 0o666), "wb") as file:
                file.write(body)
        except FileExistsError:
            raise ToolError(
                f"{target / Path(name).name} already exists. To replace it, ask the user, then set `overwrite` to "
                "true. A symbolic link is never replaced."
            ) from None
        except OSError as error:
            raise ToolError(f"Nothing can be saved in {target}: {error.strerror}.") from None
        return path

    def _target(self, folder: str) -> Path:
        target = Path(os.path.normpath(self._root / folder))
        # If a folder on the path is a link, resolving changes the path.
        if target.resolve() != target or not target.is_relative_to(self._root):
            raise ToolError(
                f"Files can only be saved in {self._root} and its subfolders, without symbolic links (got {folder!r}). "
                "Set `folder` to a subfolder, such as 'books', or leave it out."
            )
        return target
