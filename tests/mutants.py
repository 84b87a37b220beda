"""Mutation testing of the security-relevant files: changes one place at a time and lists changes that no test notices.

    python -m tests.mutants [--mutants 300] [--seed 1] [--only accounts] [--tests accounts] [--keep out/mutants]

cosmic-ray makes the changes. A change lives in a process that is forked for it with the large packages loaded, and runs
the tests that reach the changed lines, the quickest first, until one fails; all share one database server. A survivor
is told with its place; what is explained in `mutants.toml` is counted apart. Which lines the tests reach and what they
have killed is kept, so that a run goes on where another was ended. Ends with 1 below the bar.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests import reached

ROOT = Path(__file__).parent.parent
EXPLAINED = Path(__file__).with_suffix(".toml")
BAR = 0.95
SECONDS = 600  # seconds for a mutant or a test file; longer means that it hangs
TEST_SECONDS = 45  # seconds for one test of a mutant
LOADED = (
    "aiohttp",
    "asyncpg",
    "argon2",
    "hypothesis",
    "jwt",
    "marshmallow",
    "pydantic_settings",
    "stripe",
    "structlog",
)

FILES = (
    "accounts/blocking", "accounts/lookalikes", "accounts/passwords", "accounts/profiles", "accounts/proof",
    "accounts/service", "accounts/signup", "accounts/tokens",
    "billing/addons", "billing/cost_caps", "billing/credits", "billing/funds", "billing/guests", "billing/images",
    "billing/outlines", "billing/plans", "billing/quota", "billing/signature", "billing/standing", "billing/storage",
    "billing/webhook",
    "http/auth", "http/edge/admission", "http/edge/bodies", "http/edge/connection", "http/edge/headers",
    "http/edge/concurrency", "http/edge/middleware", "http/edge/pieces",
)  # fmt: skip
# Tests that see a mutation: they run in the mutated process and wait for no timer.
TESTS = [
    f"tests/{name}.py"
    for name in (
        "accounts/test_abuse", "accounts/test_blocking", "accounts/test_google", "accounts/test_links",
        "accounts/test_passwords", "accounts/test_profile", "accounts/test_proof", "accounts/test_secrets",
        "accounts/test_sign_in", "accounts/test_tokens",
        "billing/test_addons", "billing/test_checkout", "billing/test_cost_caps", "billing/test_ledger",
        "billing/test_outlines", "billing/test_periods", "billing/test_plans", "billing/test_quota",
        "billing/test_service", "billing/test_signature", "billing/test_webhook",
        "actors/test_crashes", "actors/test_jobs", "test_limits",
        "http/test_books", "http/test_chapters", "http/test_childrens", "http/test_contract", "http/test_covers",
        "http/test_odd_input", "http/test_payments", "http/test_plan_gates", "http/test_production",
        "http/test_storage", "http/edge/test_conditional", "http/edge/test_edge", "http/edge/test_errors",
        "http/edge/test_floods", "http/edge/test_schemas", "http/answers/test_large_answers",
        "http/answers/test_kept", "http/test_polls", "http/test_generation",
    )
]  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A mutation: the `number`th place in a file that one of cosmic-ray's operators can change."""

    file: str
    operator: str
    number: int


@dataclass(frozen=True)
class Mutant:
    """`before` and `after`: the changed line."""

    file: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}.py:{self.line}\n    {self.before}\n    {self.after}"

    @property
    def name(self) -> str:
        """An identifier that stays the same for the same change of the same file."""
        return f"{self.file} {hashlib.sha256(self.source.encode()).hexdigest()[:16]}"

    @property
    def lines(self) -> range:
        """The lines of the changed statement; for a compound statement those of its head, but all of a function."""
        tree = ast.parse((ROOT / "bookgen" / f"{self.file}.py").read_text())
        around = [
            range(node.lineno, (_head_end(node) or node.end_lineno or 0) + 1)
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt)
        ]
        return min((each for each in around if self.line in each), key=len, default=range(self.line, self.line + 1))


class MutatedFile(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer that loads one module of the package from other source code."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = "bookgen." + mutant.file.replace("/", ".")
        self._path = ROOT / "bookgen" / f"{mutant.file}.py"
        self._source = mutant.source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(fullname, self._path, loader=self)
            if fullname == self._name
            else None
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, str(self._path), "exec"), module.__dict__)


class SharedServer:
    """A pytest plugin that passes on a running database server, as xdist does for its workers."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        config.workerinput = {"cluster_dsn": self._dsn, "workerid": "mutant"}


def places_of(file: str) -> Iterator[Place]:
    """All mutations of the file."""
    tree = get_ast((ROOT / "bookgen" / f"{file}.py").read_text())
    for name in operator_names():
        kind = get_operator(name)
        if not kind.arguments():
            places = sum(1 for node in ast_nodes(tree) for _ in kind().mutation_positions(node))
            yield from (Place(file, name, number) for number in range(places))


def mutant_at(place: Place) -> Mutant | None:
    """The mutated source, or None if it is the same program or not a valid one."""
    source = (ROOT / "bookgen" / f"{place.file}.py").read_text()
    with contextlib.suppress(SyntaxError, AttributeError):
        changed = mutate_code(source, get_operator(place.operator)(), place.number)
        if changed and _program(changed) != _program(source):
            return _mutant(place.file, source, changed)
    return None


def _program(source: str) -> str:
    """What executes of a source: no annotations, no docstrings, no dataclass layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.Call(func=ast.Name("dataclass")):
                node.keywords = [each for each in node.keywords if each.arg != "slots"]
            case ast.arg() | ast.AnnAssign():
                node.annotation = None if isinstance(node, ast.arg) else ast.Constant(None)
            case _:
                pass
    return ast.dump(tree)


def _head_end(statement: ast.stmt) -> int | None:
    """The last line of a compound statement's head. A function has none, because callers see its head."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) or not hasattr(statement, "body"):
        return None
    return max(int(statement.body[0].lineno) - 1, statement.lineno)


def _mutant(file: str, source: str, changed: str) -> Mutant:
    pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
    line, before, after = next((at, old.strip(), new.strip()) for at, (old, new) in enumerate(pairs, 1) if old != new)
    return Mutant(file, line, before, after, changed)


def survives(mutant: Mutant, tests: Sequence[str], dsn: str) -> bool:
    """Whether all tests pass."""
    return not tests or _forked(lambda: _try(mutant, tests, dsn)) == 0


def _forked(run: Callable[[], int]) -> int:
    """The result of the function, called in a forked process; 1 on a timeout."""
    pid = os.fork()
    if pid == 0:
        code = 1
        os.setpgid(0, 0)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        try:
            code = run()
        finally:
            os._exit(code)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 1


def _try(mutant: Mutant, tests: Sequence[str], dsn: str) -> int:
    sys.meta_path.insert(0, MutatedFile(mutant))
    how = (*reached.HERE, "-x", "--show-capture=no", f"--timeout={TEST_SECONDS}")
    return int(pytest.main([*how, *tests], plugins=[SharedServer(dsn)]))


def _measure(into: Path, test: str, dsn: str) -> int:
    reached.measure(into, FILES, test, [SharedServer(dsn)])
    return 0


def all_reached(folder: Path, tests: Sequence[str], dsn: str) -> reached.Reached:
    """What these test files reach, measured if it is not cached."""
    found = reached.Reached()
    for test in tests:
        path = reached.kept_in(folder, FILES, test)
        if not path.exists() and _forked(partial(_measure, path, test, dsn)):
            sys.exit(f"What {test} reaches could not be measured.")
        found.add(path)
    for test in found.failed:
        print(f"fails without any change, and is left out: {test}", flush=True)
    return found


@contextlib.contextmanager
def database_server() -> Iterator[str]:
    """A database server in a separate process, so that this one does not import the package."""
    starting = "import sys, tests.conftest as c; s = c.Cluster(); print(s.dsn, flush=True); sys.stdin.read(); s.close()"
    with subprocess.Popen(
        [sys.executable, "-c", starting], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


class KilledBefore:
    """The names of mutants that tests killed in earlier runs."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "killed.txt"
        self.killed = set(self._path.read_text().splitlines()) if self._path.exists() else set()

    def add(self, mutant: Mutant) -> None:
        self.killed.add(mutant.name)
        with self._path.open("a") as file:
            print(mutant.name, file=file)


@dataclass
class Score:
    """The progress so far, and its description."""

    made: int = 0
    killed: int = 0
    explained: int = 0

    @property
    def passed(self) -> bool:
        return self.killed + self.explained >= BAR * self.made

    def __str__(self) -> str:
        score, without = (self.killed + self.explained) / max(self.made, 1), self.made - self.killed - self.explained
        return (
            f"{self.made} mutants: {self.killed} killed, {self.explained} survive with a reason, {without} without: "
            f"{score:.1%}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files with this in their names")
    parser.add_argument("--tests", default="", help="tests with this in their names")
    parser.add_argument("--keep", type=Path, default=ROOT / "out/mutants")
    asked = parser.parse_args()
    os.chdir(ROOT)
    asked.keep.mkdir(parents=True, exist_ok=True)
    for name in LOADED:
        importlib.import_module(name)
    every = [place for file in FILES if asked.only in file for place in places_of(file)]
    random.Random(asked.seed).shuffle(every)
    drawn = islice(filter(None, map(mutant_at, every)), asked.mutants)
    explained = tomllib.loads(EXPLAINED.read_text()).get("survivor", [])
    reasons = {(each["file"], each["before"], each["after"]) for each in explained}
    before, score = KilledBefore(asked.keep), Score()
    with database_server() as dsn:
        known = all_reached(asked.keep, [test for test in TESTS if asked.tests in test], dsn)
        for score.made, mutant in enumerate(drawn, 1):
            if mutant.name in before.killed:
                score.killed += 1
            elif (mutant.file, mutant.before, mutant.after) in reasons:
                score.explained += 1
            elif survives(mutant, known.tests_of(mutant.file, mutant.lines), dsn):
                print(f"survives: {mutant}", flush=True)
            else:
                before.add(mutant)
                score.killed += 1
            if score.made % 10 == 0:
                print(score, flush=True)
    print(f"{score} (of {len(every)} places)")
    return int(not score.passed)


if __name__ == "__main__":
    sys.exit(main())
