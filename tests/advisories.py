"""Whether a locked version is known to be vulnerable, by a checkout of github.com/pypa/advisory-database; no network.

    python -m tests.advisories FOLDER [LOCK ...]

Ends with 1 and a line for each advisory that a lock meets, with the version that mends it where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.lock", "requirements-test.lock", "requirements-build.lock")


def pinned(lock: Path) -> list[tuple[str, Version]]:
    """The pinned packages and their versions. A package may have several, for different Python versions."""
    pins = (line.split(" ")[0].partition("==") for line in lock.read_text().splitlines() if line[:1].isalnum())
    return [(canonicalize_name(name.partition("[")[0]), Version(version)) for name, _, version in pins]


def met(folder: Path, versions: Sequence[tuple[str, Version]]) -> Iterator[str]:
    """One sentence for each advisory in force that covers one of these versions."""
    for name, version in versions:
        for file in sorted((folder / "vulns" / name).glob("*.yaml")):
            advisory = yaml.load(file.read_text(), yaml.CSafeLoader)
            if "withdrawn" in advisory:
                continue
            for affected in advisory.get("affected", ()):
                if canonicalize_name(affected["package"]["name"]) == name and covers(affected, version):
                    mended = ", ".join(fixes(affected)) or "no version"
                    yield f"{name} {version}: {advisory['id']}, mended in {mended}"


def covers(affected: dict[str, Any], version: Version) -> bool:
    """Whether the advisory lists the version or a range that contains it."""
    return str(version) in affected.get("versions", ()) or any(
        _lies_in(events, version) for events in _ranges(affected)
    )


def fixes(affected: dict[str, Any]) -> list[str]:
    return [event["fixed"] for events in _ranges(affected) for event in events if "fixed" in event]


def _ranges(affected: dict[str, Any]) -> list[list[dict[str, str]]]:
    return [each["events"] for each in affected.get("ranges", ()) if each["type"] == "ECOSYSTEM"]


def _lies_in(events: list[dict[str, str]], version: Version) -> bool:
    """Whether the range covers the version: the last event at or below it decides."""
    inside = False
    for event in sorted(events, key=lambda event: Version(next(iter(event.values())))):
        ((kind, at),) = event.items()
        if kind == "introduced" and version >= Version(at):
            inside = True
        elif (kind == "fixed" and version >= Version(at)) or (kind == "last_affected" and version > Version(at)):
            inside = False
    return inside


def main(folder: str, *locks: str) -> int:
    checkout = Path(folder)
    if not (checkout / "vulns").is_dir():
        print(f"{folder} is no checkout of github.com/pypa/advisory-database.")
        return 2
    found = 0
    for lock in locks or LOCKS:
        versions = pinned(ROOT / lock)
        met_here = list(met(checkout, versions))
        found += len(met_here)
        print(f"{lock}: {len(versions)} versions, {len(met_here)} known to be vulnerable", *met_here, sep="\n  ")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
