"""Reads a `.env` file and reports malformed lines. The library dotenv would only log a warning about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dotenv.parser import Binding, parse_stream

from bookgen.errors import StartupError


def read(env_file: Path | None) -> Sequence[Binding]:
    """The lines of the file; empty if there is no file. Raises StartupError if the file cannot be read."""
    if env_file is None or not env_file.is_file():
        return []
    try:
        with env_file.open(encoding="utf-8") as lines:
            return list(parse_stream(lines))
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise StartupError(f"{env_file} can't be read: {reason}.") from error


def malformed(env_file: Path | None, lines: Iterable[Binding]) -> Iterable[str]:
    """A message for each line that does not have the form NAME=value."""
    for line in lines:
        if line.error:
            yield f"Line {line.original.line} of {env_file} must have the form NAME=value, with every quote closed."
