"""Clients generated from the OpenAPI document by other projects' generators make a book and save its files.

`make contract` (CONTRACT=all) runs every generator and linter, `make test-all` one of each, since each takes seconds to
start.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pypdfium2 import PdfDocument

from bookgen.render.formats import FORMATS
from tests.checkers import NODE_MODULES, require
from tests.http.conftest import PREFIX, Api

ALL = os.environ.get("CONTRACT") == "all"
DRIVERS = Path(__file__).parent / "generated"
# The only media type that openapi-python-client treats as a file.
AS_BYTES = json.dumps(
    {
        "post_hooks": [],
        "content_type_overrides": dict.fromkeys(
            [each.content_type for each in FORMATS.values()],
            "application/octet-stream",
        ),
    }
)


# For openapi-generator: generate only the client.
NO_PAGES = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"


async def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a command and return its output. If it fails, the error has all of the output."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join((os.environ["PATH"], str(NODE_MODULES / ".bin"))), **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode(errors="replace")
    return told.decode(errors="replace")


async def openapi_python_client(document: Path, folder: Path, base_url: str) -> None:
    (folder / "config.json").write_text(AS_BYTES)
    module = ("-m", "openapi_python_client", "generate", "--meta", "none", "--config", "config.json")
    told = await run(sys.executable, *module, "--path", document, "--output-path", "made_client", folder=folder)
    assert "WARNING" not in told, told
    await run(sys.executable, DRIVERS / "python_client.py", base_url, folder, folder=folder, PYTHONPATH=str(folder))


async def openapi_generator(document: Path, folder: Path, base_url: str) -> None:
    options = ("-g", "python", "--package-name", "made_client", "--global-property", NO_PAGES)
    command = (sys.executable, "-c", "from openapi_generator_cli import cli; cli()", "generate", "-i", document)
    await run(*command, "-o", ".", *options, folder=folder)
    await run(sys.executable, DRIVERS / "generator.py", base_url, folder, folder=folder, PYTHONPATH=str(folder))


async def openapi_typescript(document: Path, folder: Path, base_url: str) -> None:
    await run("openapi-typescript", document, "-o", "made_client.d.ts", "--default-non-nullable=false", folder=folder)
    shutil.copy(DRIVERS / "typescript.ts", folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    (folder / "package.json").write_text('{"type": "module"}')
    options = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node")
    await run("tsc", *options, "typescript.ts", folder=folder)
    await run("node", "typescript.js", base_url, folder, folder=folder)


GENERATORS = [openapi_python_client]
if ALL:
    GENERATORS += [
        pytest.param(openapi_generator, marks=pytest.mark.checker("Java")),
        pytest.param(openapi_typescript, marks=pytest.mark.checker("openapi-typescript")),
    ]
LINTERS = [("redocly", ("lint", "openapi.json", "--extends", "recommended", "--skip-rule", "no-path-trailing-slash"))]
if ALL:
    LINTERS += [("spectral", ("lint", "openapi.json", "--ruleset", "rules.yaml", "--fail-severity", "hint"))]


@pytest.mark.parametrize("generated", GENERATORS)
async def test_a_generated_client_makes_a_book_and_saves_its_files(
    visitor: Api, tmp_path: Path, generated: Callable[[Path, Path, str], Awaitable[None]]
) -> None:
    document = tmp_path / "openapi.json"
    document.write_bytes((await visitor.get("/schema/")).raw)

    await generated(document, tmp_path, str(visitor.client.make_url(PREFIX)))

    pdf = PdfDocument(tmp_path / "book.pdf")
    assert len(pdf) > 4
    pdf.close()
    assert "word/document.xml" in zipfile.ZipFile(tmp_path / "book.docx").namelist()
    assert "mimetype" in zipfile.ZipFile(tmp_path / "book.epub").namelist()


@pytest.mark.parametrize(("linter", "command"), LINTERS)
async def test_api_linters_find_only_the_contracts_trailing_slashes(
    visitor: Api, tmp_path: Path, linter: str, command: tuple[str, ...]
) -> None:
    require(linter)
    (tmp_path / "openapi.json").write_bytes((await visitor.get("/schema/")).raw)
    (tmp_path / "rules.yaml").write_text("extends: spectral:oas\nrules: {path-keys-no-trailing-slash: off}\n")

    await run(linter, *command, folder=tmp_path, REDOCLY_TELEMETRY="off", REDOCLY_SUPPRESS_UPDATE_NOTICE="true")
