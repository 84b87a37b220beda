"""The audit of the lock files against a checkout of the advisories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import advisories

ADVISORY = """
id: PYSEC-2024-1
affected:
- package: {{ecosystem: PyPI, name: Some-Package}}
  ranges:
  - {{type: GIT, events: [{{introduced: "0"}}]}}
  - {{type: ECOSYSTEM, events: [{events}]}}
  versions: [{versions}]
"""


@pytest.mark.parametrize(
    ("events", "versions", "locked", "told"),
    [
        ('{introduced: "0"}, {fixed: 1.10.0}', "", "1.9.3", True),
        ('{introduced: "0"}, {fixed: 1.10.0}', "", "1.10.0", False),
        ('{introduced: "0"}, {last_affected: 1.10.0}', "", "1.10.0", True),
        ('{introduced: "0"}, {fixed: "1.0"}, {introduced: "2.0"}, {fixed: "2.1"}', "", "1.5", False),
        ('{introduced: "0"}, {fixed: "1.0"}, {introduced: "2.0"}, {fixed: "2.1"}', "", "2.0.7", True),
        ("", "1.9.3", "1.9.3", True),
        ("", "1.9.3", "1.9.4", False),
    ],
)
def test_a_locked_version_covered_by_an_advisory_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], events: str, versions: str, locked: str, told: bool
) -> None:
    lock = _checkout(tmp_path, ADVISORY.format(events=events, versions=versions), locked)

    assert advisories.main(str(tmp_path), str(lock)) == int(told)
    assert (f"some-package {locked}: PYSEC-2024-1" in capsys.readouterr().out) is told


def test_a_withdrawn_advisory_is_ignored(tmp_path: Path) -> None:
    text = ADVISORY.format(events="", versions="1.0") + "withdrawn: 2024-02-01T00:00:00Z\n"

    assert advisories.main(str(tmp_path), str(_checkout(tmp_path, text, "1.0"))) == 0


def test_a_folder_without_advisories_fails_the_audit(tmp_path: Path) -> None:
    assert advisories.main(str(tmp_path)) == 2


@pytest.mark.parametrize("lock", advisories.LOCKS)
def test_every_locked_package_is_audited(lock: str) -> None:
    lines = (advisories.ROOT / lock).read_text().splitlines()

    assert len(advisories.pinned(advisories.ROOT / lock)) == sum("==" in line and line[0] != " " for line in lines) > 0


def _checkout(folder: Path, advisory: str, locked: str) -> Path:
    (folder / "vulns/some-package").mkdir(parents=True)
    (folder / "vulns/some-package/PYSEC-2024-1.yaml").write_text(advisory)
    lock = folder / "a.lock"
    lock.write_text(f"some-package=={locked} \\\n    --hash=sha256:{'0' * 64}\n")
    return lock
