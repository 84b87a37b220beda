"""The lock files that `make` installs from: pinned versions with hashes, every dependency, and no package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIGURATION["project"]
DECLARED = {
    "requirements.lock": PROJECT["dependencies"],
    "requirements-test.lock": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]],
    "requirements-build.lock": CONFIGURATION["build-system"]["requires"],
    "requirements-uv.lock": ["uv>=0.13,<0.14"],
}
PINNED = re.compile(
    r"([a-z0-9-]+)(?:\[[a-z,]+\])?==([^ ;]+)(?: ; [^\\]+)? \\((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)"
)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(lock: str) -> dict[str, tuple[int, ...]]:
    """The version of each package as numbers. Every line of the file must be pinned."""
    text = (ROOT / lock).read_text().replace("\n", "")
    assert PINNED.sub("", text).strip() == ""
    return {match[1]: numbers(match[2]) for match in PINNED.finditer(text)}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version))


@pytest.mark.parametrize("lock", DECLARED)
def test_every_dependency_is_pinned_within_its_bounds_with_hashes(lock: str) -> None:
    versions = pinned(lock)

    for declared in DECLARED[lock]:
        name, low, bounds = re.match(r"([\w.-]+)(?:\[[\w,-]+\])?(?:[>=]=([\d.b]+))?(.*)", declared).groups()  # type: ignore[union-attr]
        version = versions[normal(name)]
        assert version >= numbers(low or ""), declared
        if below := re.search(r"<([\d.]+)", bounds):
            assert version < numbers(below[1]), declared


@pytest.mark.parametrize(
    "declared",
    [
        *DECLARED["requirements-test.lock"], *DECLARED["requirements-build.lock"],
        *PROJECT["optional-dependencies"]["mcp"],
    ],
)  # fmt: skip
def test_every_dependency_has_an_upper_bound(declared: str) -> None:
    assert re.search(r"<\d|==\d", declared.partition(";")[0])


@pytest.mark.parametrize("lock", DECLARED)
def test_the_lock_files_name_no_package_index(lock: str) -> None:
    text = (ROOT / lock).read_text()

    assert not re.search(r"://|@ |--index|--find-links|^/|\.whl|\.tar", text, re.MULTILINE)


def test_make_installs_from_the_lock_files_and_checks_every_hash() -> None:
    makefile = (ROOT / "Makefile").read_text()

    for lock in DECLARED:
        assert re.search(rf"(install,|-m pip install -qq )--require-hashes( -r \S+)* -r {lock}\b", makefile)


def test_the_build_backend_comes_from_its_lock_and_not_from_an_environment_of_the_installer() -> None:
    makefile = (ROOT / "Makefile").read_text()

    assert " ".join(f'"{each}"' for each in DECLARED["requirements-build.lock"]) in makefile
    assert re.findall(r"install,(?!--require-hashes)(.*) -e ", makefile) == ["--no-build-isolation"] * 2


def test_a_package_in_several_locks_has_the_same_versions() -> None:
    """They are installed into one environment."""
    build, runtime, test = (pinned(f"requirements{name}.lock") for name in ("-build", "", "-test"))

    assert {name for name in build if build[name] not in (runtime.get(name, build[name]),)} == set()
    assert {name for name in build if build[name] not in (test.get(name, build[name]),)} == set()
