"""Measures which tests reach which lines of the package, and caches the result until a file changes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
# A process that may have loaded large packages before.
HERE = ("-p", "no:xdist", "-p", "no:cacheprovider", "--tb=no", "-W", "ignore:Module already imported")
MAX_SECONDS = 60.0  # seconds of tests for a mutant, as measured
ANY = ""  # the context of lines run outside tests: imports
READ_TABLES = "tests/http/test_contract.py"  # data built by imports: routes and their documentation


class Watcher:
    """Records the lines that each test reaches, its duration and whether it passes."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        result = yield
        self._coverage.switch_context(ANY)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.add(report.nodeid)


class Reached:
    """The passing tests, by the lines they reach."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def add(self, measured: Path) -> None:
        """Add the results of `measure` for a test file."""
        told = json.loads(measured.read_text())
        self._seconds |= told["seconds"]
        self.failed += told["failed"]
        for file, lines in told["lines"].items():
            for line, tests in lines.items():
                self._lines.setdefault(file, {}).setdefault(int(line), set()).update(tests)

    def tests_of(self, file: str, lines: Collection[int]) -> list[str]:
        """The tests that reach one of these lines, the quickest first, within MAX_SECONDS. For lines reached only by
        imports: the file's tests and READ_TABLES.
        """
        of_file = self._lines.get(file, {})
        found = {test for line in lines for test in of_file.get(line, ())}
        if found <= {ANY}:
            found = {test for tests in of_file.values() for test in tests}
            found |= {test for test in self._seconds if test.startswith(READ_TABLES)}
        quickest = sorted(found & self._seconds.keys() - {*self.failed}, key=self._seconds.__getitem__)
        until = accumulate(self._seconds[test] for test in quickest)
        return [test for test, seconds in zip(quickest, until, strict=True) if seconds <= MAX_SECONDS]


def kept_in(folder: Path, files: Sequence[str], test: str) -> Path:
    """The path of the cached result for a test file and these source files in their current state."""
    read = [ROOT / f"bookgen/{file}.py" for file in files] + [ROOT / test]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in read)).hexdigest()
    return folder / f"{test.replace('/', '.')}-{digest[:16]}.json"


def measure(into: Path, files: Sequence[str], test: str, plugins: Sequence[object]) -> None:
    """Run a test file in this process, which has not imported the package yet."""
    import coverage

    watch = coverage.Coverage(data_file=None, include=[str(ROOT / f"bookgen/{file}.py") for file in files])
    watcher = Watcher(watch)
    watch.start()
    pytest.main([*HERE, test], plugins=[watcher, *plugins])
    watch.stop()
    data = watch.get_data()
    lines = {file: data.contexts_by_lineno(str(ROOT / f"bookgen/{file}.py")) for file in files}
    told = {"lines": lines, "seconds": watcher.seconds, "failed": sorted(watcher.failed)}
    unfinished = into.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(told))
    unfinished.rename(into)
