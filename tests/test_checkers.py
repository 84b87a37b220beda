"""A missing checker is named with how to install it. In CI it is a failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import checkers

CI = (Path(__file__).parent.parent / ".ci/run").read_text()


@pytest.fixture
def without_qpdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkers.shutil, "which", lambda _: None)
    monkeypatch.setitem(checkers.CHECKERS, "qpdf", checkers._apt("qpdf", "qpdf"))


@pytest.mark.usefixtures("without_qpdf")
def test_a_missing_checker_skips_its_test_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "false")

    with pytest.raises(pytest.skip.Exception, match=r"missing: qpdf \(apt-get install qpdf\)"):
        checkers.require("qpdf")


@pytest.mark.usefixtures("without_qpdf")
def test_a_missing_checker_is_a_failure_with_ci_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match=r"missing: qpdf \(apt-get install qpdf\)"):
        checkers.require("qpdf")


def test_an_installed_checker_skips_no_test() -> None:
    checkers.require()


@pytest.mark.parametrize("name", [name for name in checkers.CHECKERS if name != "make"])
def test_ci_installs_every_checker(name: str) -> None:
    packages = re.sub(r"^(apt-get|npm) install (--prefix \S+ |--global )?", "", checkers.CHECKERS[name][0]).split()

    assert packages
    assert [package for package in packages if package not in CI] == []
