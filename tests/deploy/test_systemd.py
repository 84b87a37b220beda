"""The unit of systemd, judged by systemd's own programs."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from bookgen.settings import Config
from tests.service import ROOT

UNIT = ROOT / "deploy/bookgen.service"
MAX_EXPOSURE = 25  # of 100: systemd calls that "OK"


def asked(*arguments: object) -> str:
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def settings() -> configparser.SectionProxy:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    return unit["Service"]


@pytest.mark.checker("systemd-analyze")
def test_the_unit_is_valid_and_sandboxed(tmp_path: Path) -> None:
    here = tmp_path / "bookgen.service"
    here.write_text(UNIT.read_text().replace("/opt/bookgen/.venv/bin/bookgen", sys.executable))

    assert asked("systemd-analyze", "verify", here) == ""
    asked("systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={MAX_EXPOSURE}", UNIT)


@pytest.mark.checker("systemd-analyze")
def test_systemd_creates_the_user_and_the_folders(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()

    asked("systemd-sysusers", f"--root={tmp_path}", ROOT / "deploy/bookgen.sysusers.conf")
    asked("systemd-tmpfiles", f"--root={tmp_path}", "--create", ROOT / "deploy/bookgen.tmpfiles.conf")

    user = (tmp_path / "etc/passwd").read_text().split(":")
    assert (user[0], user[-1].strip()) == (settings()["User"], "/usr/sbin/nologin")
    assert settings()["ReadWritePaths"] == "-/var/backups/bookgen"
    assert (tmp_path / "var/backups/bookgen").stat().st_mode & 0o777 == 0o700


def test_the_unit_waits_longer_than_a_drain_and_restarts_the_service_without_a_limit() -> None:
    assert float(settings()["TimeoutStopSec"]) > Config.model_fields["drain_seconds"].default
    assert (settings()["Restart"], settings()["RestartSec"], settings()["KillMode"]) == ("always", "2", "mixed")
    assert "StartLimitIntervalSec=0" in UNIT.read_text()
