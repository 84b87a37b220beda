"""The running service judged by its own document: a short run here, `make contract` for the long one."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.http.conftest import PREFIX, Api

CONFIG = Path(__file__).with_name("schemathesis.toml")


@pytest.mark.timeout(600)
async def test_the_service_does_what_its_document_says(api: Api) -> None:
    await api.written()
    judge = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        "--config-file", str(CONFIG),
        "run", f"http://127.0.0.1:{api.client.port}{PREFIX}/schema/",
        "--header", f"Authorization: Bearer {api.access}",
        "--checks", "all",
        "--phases", "examples,coverage",
        "--exclude-tag", "export",
        "--max-examples", "1",
        "--generation-database", "none",
        "--no-color",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await judge.communicate()

    assert judge.returncode == 0, said.decode()
