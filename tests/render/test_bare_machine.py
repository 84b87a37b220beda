"""A fresh machine: no fonts, no network, nothing installed except the declared dependencies."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Every script that is supported without system fonts, in every format, with empty font folders and
# no network.
PROGRAM = """
import socket, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError(f"{event} {arguments}")

sys.addaudithook(refuse)
from bookgen.render.fonts import system
system._FOLDERS = ("/nowhere",)
from tests.render.conftest import make_manuscript, render
from tests.render.test_scripts import FROM_THE_RIGHT, SAMPLES

for language, sample in (SAMPLES | FROM_THE_RIGHT).items():
    rendered = render(make_manuscript(sample, language=language if len(language) == 2 else "en"))
    print(language, rendered.pdf[:4], rendered.docx[:2], rendered.epub[:2])
"""


def test_every_format_is_made_without_system_fonts_and_without_a_network(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 15
    assert all(line.endswith("b'%PDF' b'PK' b'PK'") for line in done.stdout.splitlines())


def test_everything_the_renderer_imports_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {_normal(re.split(r"[^\w.-]", each)[0]) for each in project["dependencies"]}
    owners = packages_distributions()
    found = {
        name: file.relative_to(ROOT)
        for file in (ROOT / "bookgen" / "render").rglob("*.py")
        for name in _imported(file)
        if name not in sys.stdlib_module_names and name != "bookgen"
    }

    missing = {
        name: str(file)
        for name, file in found.items()
        if not declared & {_normal(owner) for owner in owners.get(name, ())}
    }
    assert missing == {}


def _imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
