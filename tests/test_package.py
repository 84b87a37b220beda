"""The files in the wheel besides modules. Hatchling includes the files of the package that Git does not ignore."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from bookgen import __version__
from bookgen.commands import mcp
from bookgen.providers.sample.story import FOLDER

ROOT = Path(__file__).parent.parent


def test_the_wheel_contains_the_whole_package() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]

    assert wheel["packages"] == ["bookgen"]
    assert not {"exclude", "include", "only-include"} & wheel.keys()


def test_the_version_is_defined_in_one_place_and_heads_the_changelog() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert project["project"]["name"] == "bookgen-server"
    assert project["project"]["dynamic"] == ["version"]
    assert re.findall(r"^## (\S+)$", changelog, re.MULTILINE)[0] == __version__


def test_the_mcp_command_names_an_extra_that_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["optional-dependencies"]["mcp"] == [mcp.NEEDS]


def test_no_sample_story_is_excluded_by_gitignore() -> None:
    patterns = [line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()]
    stories = [path.relative_to(ROOT) for path in FOLDER.rglob("*.*")]

    assert len(stories) >= 28
    assert [path for path in stories for part in path.parts for each in patterns if fnmatch(part, each)] == []
