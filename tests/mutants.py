"""Changes the security-relevant files one place at a time and tells which changes no test notices.

    python -m tests.mutants [--mutants 300] [--seed 1] [--only accounts/tokens]

cosmic-ray makes the changes. A change lives in a process that is forked for it with the large packages loaded, and runs
the tests named here for its file until the first one fails; all share one database server. What survives is told with
its place; what is explained in `mutants.toml` is counted apart. Ends with 1 below the bar.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parent.parent
EXPLAINED = Path(__file__).with_suffix(".toml")
BAR = 0.95
SECONDS = 900  # for a mutant; one that takes longer hangs, which is noticed
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

ACCOUNTS = ("accounts/test_sign_in", "accounts/test_proof", "accounts/test_links", "accounts/test_abuse")
PAYMENTS = ("billing/test_webhook", "billing/test_quota", "billing/test_addons", "billing/test_checkout")
EDGE = ("http/edge/test_edge", "http/test_contract", "http/edge/test_floods", "http/answers/test_large_answers")
# File of the package: its tests, those that tell most first.
TESTS: Mapping[str, Sequence[str]] = {
    "accounts/blocking": ("accounts/test_blocking", "commands/test_account"),
    "accounts/lookalikes": ("accounts/test_sign_in",),
    "accounts/passwords": ("accounts/test_passwords", "accounts/test_sign_in"),
    "accounts/profiles": ("accounts/test_proof", "accounts/test_profile", "accounts/test_sign_in"),
    "accounts/proof": ("accounts/test_proof", "accounts/test_links"),
    "accounts/service": (*ACCOUNTS, "accounts/test_google", "accounts/test_blocking"),
    "accounts/signup": (*ACCOUNTS, "accounts/test_google", "billing/test_webhook"),
    "accounts/tokens": ("accounts/test_tokens", "accounts/test_proof"),
    "billing/addons": ("billing/test_addons", "http/test_production", "http/test_childrens"),
    "billing/cost_caps": ("billing/test_cost_caps", "actors/test_crashes", "http/edge/test_serving"),
    "billing/credits": ("billing/test_ledger", *PAYMENTS),
    "billing/funds": (*PAYMENTS, "http/test_books"),
    "billing/guests": ("billing/test_webhook", "accounts/test_links"),
    "billing/images": ("http/test_covers", "http/test_plan_gates"),
    "billing/outlines": ("actors/test_jobs", "http/test_outlines"),
    "billing/plans": ("billing/test_plans", "http/test_plan_gates", "billing/test_quota"),
    "billing/quota": ("billing/test_quota", "http/test_plan_gates", "billing/test_periods", "http/test_books"),
    "billing/signature": ("billing/test_signature", "billing/test_webhook", "http/test_payments"),
    "billing/standing": (*PAYMENTS, "http/test_payments"),
    "billing/storage": ("http/test_storage",),
    "billing/webhook": ("billing/test_webhook", "commands/test_payments", "http/test_payments"),
    "http/auth": (*ACCOUNTS, "accounts/test_google", "accounts/test_profile", "accounts/test_timing"),
    "http/edge/admission": ("test_limits", *EDGE, "accounts/test_blocking"),
    "http/edge/bodies": EDGE,
    "http/edge/connection": ("http/edge/test_edge", "http/edge/test_floods", "http/test_contract"),
    "http/edge/headers": ("http/edge/test_edge", "http/edge/test_serving"),
    "http/edge/middleware": EDGE,
    "http/edge/pieces": ("http/answers/test_large_answers", "http/test_exports"),
}


@dataclass(frozen=True)
class Place:
    """The `number`th place of a file that one of cosmic-ray's operators can change."""

    file: str
    operator: str
    number: int


@dataclass(frozen=True)
class Mutant:
    """`before` and `after`: the line that differs."""

    file: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}.py:{self.line}\n    {self.before}\n    {self.after}"


class MutatedFile(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module of the package from another source."""

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
    """Hands a running database server to pytest, as an xdist worker is handed one."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        config.workerinput = {"cluster_dsn": self._dsn, "workerid": "mutant"}


def places_of(file: str) -> Iterator[Place]:
    """Every place of the file that can be changed, by every way to change it."""
    tree = get_ast((ROOT / "bookgen" / f"{file}.py").read_text())
    for name in operator_names():
        kind = get_operator(name)
        if not kind.arguments():
            places = sum(1 for node in ast_nodes(tree) for _ in kind().mutation_positions(node))
            yield from (Place(file, name, number) for number in range(places))


def mutant_at(place: Place) -> Mutant | None:
    """None where what comes out is the same program, or none."""
    source = (ROOT / "bookgen" / f"{place.file}.py").read_text()
    with contextlib.suppress(SyntaxError, AttributeError):
        changed = mutate_code(source, get_operator(place.operator)(), place.number)
        if changed and _program(changed) != _program(source):
            return _mutant(place.file, source, changed)
    return None


def unchanged(file: str) -> Mutant:
    return Mutant(file, 0, "", "", (ROOT / "bookgen" / f"{file}.py").read_text())


def _program(source: str) -> str:
    """What runs of a source: annotations and docstrings don't."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.arg() | ast.AnnAssign():
                node.annotation = None if isinstance(node, ast.arg) else ast.Constant(None)
            case _:
                pass
    return ast.dump(tree)


def _mutant(file: str, source: str, changed: str) -> Mutant:
    pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
    line, before, after = next((at, old.strip(), new.strip()) for at, (old, new) in enumerate(pairs, 1) if old != new)
    return Mutant(file, line, before, after, changed)


def survives(mutant: Mutant, dsn: str) -> bool:
    """Whether no test fails."""
    pid = os.fork()
    if pid == 0:
        _try(mutant, dsn)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _try(mutant: Mutant, dsn: str) -> None:
    os.setpgid(0, 0)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    sys.meta_path.insert(0, MutatedFile(mutant))
    tests = [f"tests/{name}.py" for name in TESTS[mutant.file]]
    rewritten = "ignore:Module already imported"  # those that are loaded for all mutants
    options = ["-x", "-W", rewritten, "-p", "no:xdist", "-p", "no:cacheprovider", "--show-capture=no", "--tb=no"]
    code = 1
    try:
        code = int(pytest.main([*options, *tests], plugins=[SharedServer(dsn)]))
    finally:
        os._exit(code)


@contextlib.contextmanager
def database_server() -> Iterator[str]:
    """A server in a process of its own, so that nothing of the package is loaded in this one."""
    starting = "import sys, tests.conftest as c; s = c.Cluster(); print(s.dsn, flush=True); sys.stdin.read(); s.close()"
    with subprocess.Popen(
        [sys.executable, "-c", starting], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    os.chdir(ROOT)
    for name in LOADED:
        importlib.import_module(name)
    every = [place for file in TESTS if asked.only in file for place in places_of(file)]
    random.Random(asked.seed).shuffle(every)
    drawn = islice(filter(None, map(mutant_at, every)), asked.mutants)
    explained = tomllib.loads(EXPLAINED.read_text()).get("survivor", [])
    known = {(each["file"], each["before"], each["after"]) for each in explained}
    made = survived = unexplained = 0
    tried: set[str] = set()
    with database_server() as dsn:
        for made, mutant in enumerate(drawn, 1):
            if mutant.file not in tried and not survives(unchanged(mutant.file), dsn):
                sys.exit(f"The tests of {mutant.file} fail without any change.")
            tried.add(mutant.file)
            if not survives(mutant, dsn):
                continue
            survived += 1
            if (mutant.file, mutant.before, mutant.after) not in known:
                unexplained += 1
                print(f"[{made}] survives: {mutant}", flush=True)
    killed = made - survived
    print(
        f"{made} mutants of {len(every)} places: {killed} killed ({killed / made:.1%}), "
        f"{survived - unexplained} survive with a reason, {unexplained} without."
    )
    return int(made - unexplained < BAR * made)


if __name__ == "__main__":
    sys.exit(main())
