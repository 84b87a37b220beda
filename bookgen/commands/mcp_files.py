"""The one folder in which the MCP server saves files, because an agent may follow instructions in text from others."""

from __future__ import annotations

import os
from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError

# Neither opens what is there nor follows a link; Windows has no such links to follow by default.
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class ExportFolder:
    """Saves files below `root`, and nowhere else."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def save(self, folder: str, name: str, body: bytes, *, overwrite: bool) -> Path:
        """Write a file into `folder`, which is relative to the root or below it. Raises ToolError with the reason if it
        cannot.
        """
        target = self._target(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            if target.resolve() != target:  # a link that was put there just now
                raise ToolError(f"{target} leads elsewhere. Name a folder without links.")
            path = target / Path(name).name
            if overwrite and not path.is_symlink():
                path.unlink(missing_ok=True)
            with os.fdopen(os.open(path, NEW, 0o666), "wb") as file:
                file.write(body)
        except FileExistsError:
            raise ToolError(
                f"{target / Path(name).name} is there already. To replace a file, ask the reader, then send overwrite "
                "as true; a link is never replaced."
            ) from None
        except OSError as error:
            raise ToolError(f"Nothing can be saved in {target}: {error.strerror}.") from None
        return path

    def _target(self, folder: str) -> Path:
        target = Path(os.path.normpath(self._root / folder))
        # Resolved, a link on the way shows as another path.
        if target.resolve() != target or not target.is_relative_to(self._root):
            raise ToolError(
                f"Files are saved in {self._root} and folders below it, without links. Name one of those, such as "
                "'books', or none."
            )
        return target
