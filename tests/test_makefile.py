"""`make` sets up the Python that it checked, and `make test` fails if any check fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow import FOR_A_RELEASE, SLOW, TESTS

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.checker("make")


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def set_up(folder: Path) -> subprocess.CompletedProcess[str]:
    return make(folder, ".venv/bin/python")


def make(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    # Without the settings of the make that runs these tests.
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "PYTHON")}
    environment["PATH"] = f"{folder}:/usr/bin:/bin"
    command = ["make", "-f", str(ROOT / "Makefile"), *targets]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_uv_is_given_a_python_that_is_new_enough(tmp_path: Path) -> None:
    """Given only the name, uv might take an older Python or download one."""
    program(tmp_path / "python3", f'exec "{sys.executable}" "$@"')
    program(tmp_path / "uv", 'printf "%s\\n" "$@"')

    made = set_up(tmp_path)

    assert made.stdout.split() == ["venv", "-q", "--python", sys.executable, ".venv"]


def test_without_a_recent_python_make_says_so(tmp_path: Path) -> None:
    for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11"):
        program(tmp_path / name, "exit 1")
    program(tmp_path / "uv", "echo called")

    made = set_up(tmp_path)

    assert made.returncode != 0
    assert made.stdout == "bookgen needs Python 3.11 or newer; found none.\n"


def checks(folder: Path, failing: str | None = None) -> None:
    """A set-up whose checks only print what they were called with."""
    (folder / ".venv/bin").mkdir(parents=True)
    for prerequisite in (
        "pyproject.toml", "requirements-test.lock", "requirements-build.lock", ".venv/bin/python", ".venv/.test",
    ):  # fmt: skip
        (folder / prerequisite).touch()
    for check in ("ruff", "mypy", "pytest"):
        program(folder / ".venv/bin" / check, f'echo report of {check} "$@"; exit {int(check == failing)}')


@pytest.mark.parametrize("failing", ["ruff", "mypy", "pytest", None])
def test_make_test_fails_if_any_check_fails(tmp_path: Path, failing: str | None) -> None:
    checks(tmp_path, failing)

    made = make(tmp_path, "test")

    assert (made.returncode != 0) is (failing is not None)
    reports = ["ruff"] if failing == "ruff" else ["ruff", "ruff", "pytest", "mypy"]
    assert [line.split()[2] for line in made.stdout.splitlines() if line.startswith("report")] == reports


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        (["test"], " -m not slow"),
        (["test-all"], ""),
        (["test", 'QUICK=-m "not release"'], " -m not release"),
    ],
)
def test_slow_tests_run_when_asked_for(tmp_path: Path, target: list[str], chosen: str) -> None:
    checks(tmp_path)

    made = make(tmp_path, *target)

    assert f"report of pytest -n 3 --dist worksteal{chosen}" in made.stdout.splitlines()


def test_ci_leaves_out_only_what_is_for_a_release() -> None:
    assert (ROOT / ".ci/run").read_text().endswith("make test QUICK='-m \"not release\"'\n")


@pytest.mark.parametrize("name", [*SLOW, *FOR_A_RELEASE])
def test_what_is_named_as_slow_exists(name: str) -> None:
    """A file that was renamed would otherwise be in `make test` again."""
    assert (TESTS / name).exists()


def test_where_uv_fails_pip_installs_and_nothing_is_said_of_uv(tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for prerequisite in ("pyproject.toml", "requirements.lock", "requirements-build.lock"):
        (tmp_path / prerequisite).touch()
    program(tmp_path / ".venv/bin/uv", "echo no such certificate >&2; exit 2")
    program(tmp_path / ".venv/bin/python", 'echo "$@"')

    made = make(tmp_path, ".venv/.runtime")

    lines = made.stdout.splitlines()[1:]
    assert (made.returncode, made.stderr) == (0, "")
    assert lines == [
        "-m pip install -q --require-hashes -r requirements.lock -r requirements-build.lock",
        "-m pip install -q --no-build-isolation -e .",
    ]
    assert not (tmp_path / ".venv/bin/uv").exists()
