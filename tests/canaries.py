"""Nothing secret is logged in a whole run of the tests: every line is kept, and searched when the last test is over.

The fixtures put CANARY into each password, key, prompt and text that they make. What the service makes itself, tokens
and links, is told to `watch`, and known by its shape besides. Kept are the lines of this process in the form of the
service, and the logs of every service and database that a test starts. Under xdist each worker searches its own.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import logging
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from bookgen.logs import configure_logs

CANARY = "canary5e21b7"
# A JWT, a mailed link, a payment signature. The service makes these, so no fixture can mark them.
SHAPES = (
    r"eyJ[\w-]{8,}\.[\w-]{4,}\.",
    r"/(?:reset-password|verify-email|magic-login|undo-email|approve-email)/[\w-]+/[\w-]{16,}",
    r"t=\d{10},v1=[0-9a-f]{16,}",
)
EXCERPT = 120

_watched: set[str] = set()


def watch(secret: str) -> str:
    """Register a secret that must not be logged, and return it."""
    _watched.add(secret)
    return secret


class KeptLines(io.TextIOBase):
    """Collects all log lines in a file, and passes them to listeners."""

    def __init__(self) -> None:
        self._file: TextIO = tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        atexit.register(self._file.close)
        self._listeners: list[io.StringIO] = []

    def write(self, text: str, /) -> int:
        for listener in self._listeners:
            listener.write(text)
        return self._file.write(text)

    @contextlib.contextmanager
    def listening(self) -> Iterator[io.StringIO]:
        listener = io.StringIO()
        self._listeners.append(listener)
        try:
            yield listener
        finally:
            self._listeners.remove(listener)

    def leaks(self) -> list[str]:
        """The secrets found in the log, each with its line."""
        secret = re.compile("|".join([CANARY, *SHAPES, *map(re.escape, sorted(_watched))]))
        self._file.seek(0)
        found = [(line, match) for line in self._file for match in secret.finditer(line)]
        return [line[max(0, match.start() - EXCERPT) : match.end() + EXCERPT].strip() for line, match in found]


kept = KeptLines()


def keep_logs(folder: Path) -> None:
    """Add the logs that a service and its database left in a folder."""
    for log in folder.rglob("*.log"):
        kept.write(log.read_text(errors="replace") + "\n")


def log_as_the_service_does() -> None:
    configure_logs("json", "debug", kept)
    # Logs of the fake servers. Their requests and responses are not log lines of the service.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """The log lines of the test, in the service's format."""
    log_as_the_service_does()  # a command in this process has reconfigured logging
    with kept.listening() as lines:
        yield lines


def pytest_configure() -> None:
    log_as_the_service_does()


def pytest_sessionfinish(session: pytest.Session) -> None:
    leaks = kept.leaks() + getattr(session.config, "leaks_of_workers", [])
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["leaks"] = leaks
    elif leaks:
        session.config.leaks_of_workers = leaks
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the log of a finished worker, on xdist's controller."""
    found = getattr(node.config, "leaks_of_workers", [])
    node.config.leaks_of_workers = found + getattr(node, "workeroutput", {}).get("leaks", [])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    leaks = getattr(config, "leaks_of_workers", [])
    if leaks:
        terminalreporter.section(f"{len(leaks)} secrets in the logs", red=True)
        terminalreporter.write("\n".join(leaks[:20]) + "\n")
