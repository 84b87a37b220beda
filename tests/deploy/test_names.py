"""What the files in `deploy/` name, such as settings, paths and commands, is what the code has."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bookgen.commands.cli import COMMANDS
from bookgen.settings import names
from tests.http.conftest import OpenApi, open_api
from tests.service import ROOT

__all__ = ["open_api"]

DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
OF_CADDY = {"BOOKGEN_DOMAIN", "BOOKGEN_UPSTREAM"}
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PAGES = [ROOT / "docs/install.md", ROOT / "docs/operate.md"]


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_setting_and_command_in_the_files_exists_in_the_code(file: Path) -> None:
    text = file.read_text()

    assert set(re.findall(r"\bBOOKGEN_[A-Z_]+\b", text)) - set(names().values()) - OF_CADDY == set()
    assert set(re.findall(r"(?<![/-])\bbookgen (serve|backup|runs|mail|check|[a-z]+ test)\b", text)) <= {
        *COMMANDS, "mail test",
    }  # fmt: skip


def test_the_image_is_built_from_existing_files_that_the_builder_is_given() -> None:
    copied = {
        name
        for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.M)
        for name in line.split()
    }  # fmt: skip
    allowed = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}

    assert {name for name in copied if not (ROOT / name).exists()} == set()
    assert copied == allowed
    assert "--require-hashes -r /src/requirements.lock" in DOCKERFILE
    assert "--require-hashes -r /src/requirements-build.lock" in DOCKERFILE
    assert "--no-build-isolation" in DOCKERFILE


def test_the_image_runs_one_process_without_root() -> None:
    user = re.findall(r"^USER (.*)$", DOCKERFILE, re.M)

    assert user == ["10001:10001"]
    assert DOCKERFILE.rindex("USER ") < DOCKERFILE.rindex("ENTRYPOINT")
    assert re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", DOCKERFILE, re.M) == ['["bookgen"]', '["serve"]']


async def test_the_health_check_passes_only_while_the_service_answers(open_api: OpenApi) -> None:
    (told,) = re.findall(r"^    CMD (\[.*\])$", DOCKERFILE, re.M)
    program, *arguments = json.loads(told)
    assert program == "python"
    api = await open_api()

    assert await _code(arguments, api.client.port) == 0
    await api.client.close()
    assert await _code(arguments, api.client.port) == 1


async def _code(arguments: list[str], port: int | None) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, env={"BOOKGEN_PORT": str(port)}, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


def test_the_compose_services_fit_together() -> None:
    ours, proxy, database = (COMPOSE["services"][name] for name in ("bookgen", "caddy", "postgres"))

    build = (DEPLOY / ours["build"]["context"]).resolve()
    assert (build / ours["build"]["dockerfile"]).is_file()
    assert proxy["environment"]["BOOKGEN_UPSTREAM"] == "bookgen:8000"
    assert "BOOKGEN_PORT=8000" in DOCKERFILE
    assert "@postgres/bookgen" in ours["environment"]["BOOKGEN_DATABASE_URL"]
    assert database["environment"]["POSTGRES_DB"] == database["environment"]["POSTGRES_USER"] == "bookgen"
    subnet = COMPOSE["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert ours["environment"]["BOOKGEN_TRUSTED_PROXIES"] == subnet
    assert ours["read_only"]
    assert f"VOLUME {ours['volumes'][0].partition(':')[2]}" in DOCKERFILE
    for service in COMPOSE["services"].values():
        for source in (volume.partition(":")[0] for volume in service["volumes"]):
            assert source in COMPOSE["volumes"] or (DEPLOY / source).is_file()


def test_the_docs_name_every_file_and_copy_none() -> None:
    pages = "\n".join(page.read_text() for page in PAGES)
    files = [file for file in FILES if "helm" not in file.parts]  # the chart is named as a whole
    lines = {
        line.strip() for file in FILES for line in file.read_text().splitlines()
        if len(line.strip()) > 30 and not line.strip().startswith(("#", '"'))
    }  # fmt: skip

    named = {file.name for file in files if f"deploy/{file.relative_to(DEPLOY)}" in pages}
    assert "deploy/helm" in pages
    assert {file.name for file in files} - named == {"Dockerfile.dockerignore"}  # which only the builder reads
    assert {line for line in lines if line in pages} == set()
