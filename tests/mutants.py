"""Mutation testing of the security-relevant files: changes one place at a time and lists changes that no test notices.

    python -m tests.mutants [--mutants 300] [--seed 1] [--only accounts] [--tests accounts] [--keep out/mutants]
    python -m tests.mutants --mutants 1000 --operators "_(Gt_GtE|GtE_Gt|Lt_LtE|LtE_Lt)$"  # every bound, off by one

cosmic-ray makes the changes. A change lives in a process that is forked for it with the large packages loaded, and
runs the tests that reach the changed lines, the quickest first, until one fails; all share one database server and
one server that forks programs. A survivor is told with its place; what is explained in `mutants.toml` is counted
apart. Which lines the tests reach and what they have killed is kept, so that a run goes on where another was ended.
Ends with 1 below the bar.
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
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
    "aiohttp.web", "aiohttp_apispec", "argon2", "asyncpg", "cryptography.fernet", "hypothesis", "jinja2", "jwt",
    "marshmallow", "prometheus_client", "pydantic_settings", "stripe", "structlog", "zxcvbn",
)  # fmt: skip

# All files of these folders, so that a new one is not forgotten, and the files below.
GUARDED = ("accounts", "billing", "http/edge")
# Files that guard nothing: texts, sending mail, the log, and how a process starts, listens and is watched.
UNGUARDED = {
    "accounts/letters", "accounts/mailing",
    "http/edge/access_log", "http/edge/deprecation", "http/edge/disconnects", "http/edge/listening",
    "http/edge/watchdog",
}  # fmt: skip
ALSO_GUARDED = (
    "http/addons", "http/auth", "http/credits", "http/payments", "http/subscriptions",
    "rate_limits",
)  # fmt: skip
TEST_FOLDERS = ("accounts", "billing", "http/answers", "http/edge")
# Tests that do not see a mutation, because they run in another process, or that measure time.
BLIND = {"accounts/test_timing", "billing/test_dying", "billing/test_service", "http/edge/test_watchdog"}
OTHER_TESTS = (
    "actors/test_crashes", "actors/test_jobs", "actors/test_reserved_edits", "commands/test_payments",
    "test_rate_limits", "http/test_books", "http/test_chapters", "http/test_childrens", "http/test_contract",
    "http/test_covers", "http/test_exports", "http/test_exports_schemas", "http/test_files", "http/test_generation",
    "http/test_idempotency", "http/test_if_match", "http/test_messages", "http/test_odd_input", "http/test_parts",
    "http/test_payments", "http/test_plan_gates", "http/test_polls", "http/test_production",
    "http/test_proofreading", "http/test_round_trip", "http/test_secrets", "http/test_site", "http/test_spending",
    "http/test_storage", "http/test_waiting",
)  # fmt: skip


def _modules(root: Path, folders: Iterable[str], pattern: str, left_out: Collection[str]) -> list[str]:
    """The modules of these folders, relative to `root` and without their suffix."""
    found = (path for folder in folders for path in sorted((root / folder).glob(pattern)))
    names = [path.relative_to(root).with_suffix("").as_posix() for path in found]
    return [name for name in names if name not in left_out]


FILES = (*_modules(ROOT / "bookgen", GUARDED, "[!_]*.py", UNGUARDED), *ALSO_GUARDED)
TESTS = [f"tests/{name}.py" for name in (*_modules(ROOT / "tests", TEST_FOLDERS, "test_*.py", BLIND), *OTHER_TESTS)]


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


Servers = dict[str, Any]  # the database server's DSN and the fork server's address, as xdist hands them to its workers


class SharedServers:
    """A pytest plugin that passes on running servers, as xdist does for its workers."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        config.workerinput = {**self._servers, "workerid": "mutant"}


def unaffected() -> list[str]:
    """The modules of a built service that import none of FILES, not even indirectly: all mutants share them."""
    imported = {_name(path): _imports(path) for path in (ROOT / "bookgen").rglob("*.py")}

    def closure(name: str, found: set[str]) -> set[str]:
        for each in imported.get(name, set()) - found:
            found.add(each)
            closure(each, found)
        return found

    guarded = {f"bookgen.{file}".replace("/", ".") for file in FILES}
    built = closure("bookgen.app.build", set()) & imported.keys()
    return sorted(name for name in built - guarded if not closure(name, set()) & guarded)


def _imports(path: Path) -> set[str]:
    """The names that a module imports, of modules or of what is in them, with the packages around them."""
    found = {_name(path)}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, path
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found | {name.rpartition(".")[0] for name in found}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def places_of(file: str) -> Iterator[Place]:
    """All mutations of the file."""
    nodes = list(ast_nodes(get_ast((ROOT / "bookgen" / f"{file}.py").read_text())))
    for name in operator_names():
        kind = get_operator(name)
        if not kind.arguments():
            places = sum(1 for node in nodes for _ in kind().mutation_positions(node))
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
    """What executes of a source: it has no annotations, docstrings, kinds of parameters and options of dataclasses.

    Whether a dataclass is frozen counts as no change: the type checker refuses code that would change an instance.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.Call(func=ast.Name("dataclass")):
                node.keywords = [each for each in node.keywords if each.arg not in ("slots", "frozen")]
            case ast.arguments():
                node.args, node.posonlyargs, node.kwonlyargs = [*node.posonlyargs, *node.args, *node.kwonlyargs], [], []
                node.defaults, node.kw_defaults = [*node.defaults, *filter(None, node.kw_defaults)], []
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


def survives(mutant: Mutant, tests: Sequence[str], servers: Servers) -> bool:
    """Whether all tests pass."""
    return not tests or _forked(lambda: _try(mutant, tests, servers)) == 0


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


def _try(mutant: Mutant, tests: Sequence[str], servers: Servers) -> int:
    sys.meta_path.insert(0, MutatedFile(mutant))
    how = (*reached.HERE, "-x", "--show-capture=no", f"--timeout={TEST_SECONDS}")
    return int(pytest.main([*how, *tests], plugins=[SharedServers(servers)]))


def _measure(into: Path, test: str, servers: Servers) -> int:
    reached.measure(into, FILES, test, [SharedServers(servers)])
    return 0


def all_reached(folder: Path, tests: Sequence[str], servers: Servers) -> reached.Reached:
    """What these test files reach, measured if it is not cached."""
    found = reached.Reached()
    for test in tests:
        path = reached.kept_in(folder, FILES, test)
        if not path.exists() and _forked(partial(_measure, path, test, servers)):
            sys.exit(f"What {test} reaches could not be measured.")
        found.add(path)
    for test in found.failed:
        print(f"fails without any change, and is left out: {test}", flush=True)
    return found


STARTING = """
import sys, tests.conftest, tests.programs
cluster = tests.conftest.Cluster()
print({"cluster_dsn": cluster.dsn, "forkserver": tests.programs.begin_to_load()}, flush=True)
sys.stdin.read()
cluster.close()
"""


@contextlib.contextmanager
def started_servers() -> Iterator[Servers]:
    """The servers that all mutants share, in a separate process, so that this one does not import the package."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        yield ast.literal_eval(process.stdout.readline())


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
    parser.add_argument("--operators", default="", help="a pattern for the names of cosmic-ray's operators")
    parser.add_argument("--tests", default="", help="tests with this in their names")
    parser.add_argument("--keep", type=Path, default=ROOT / "out/mutants")
    asked = parser.parse_args()
    os.chdir(ROOT)
    asked.keep.mkdir(parents=True, exist_ok=True)
    for name in (*LOADED, *unaffected()):
        importlib.import_module(name)
    every = [place for file in FILES if asked.only in file for place in places_of(file)]
    every = [place for place in every if re.search(asked.operators, place.operator)]
    random.Random(asked.seed).shuffle(every)
    drawn = islice(filter(None, map(mutant_at, every)), asked.mutants)
    explained = tomllib.loads(EXPLAINED.read_text()).get("survivor", [])
    reasons = {(each["file"], each["before"], each["after"]) for each in explained}
    before, score = KilledBefore(asked.keep), Score()
    with started_servers() as servers:
        known = all_reached(asked.keep, [test for test in TESTS if asked.tests in test], servers)
        for score.made, mutant in enumerate(drawn, 1):
            if mutant.name in before.killed:
                score.killed += 1
            elif (mutant.file, mutant.before, mutant.after) in reasons:
                score.explained += 1
            elif survives(mutant, known.tests_of(mutant.file, mutant.lines), servers):
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
