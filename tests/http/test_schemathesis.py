"""The running service judged by its own document: a short run here, `make contract` for the long one."""

import asyncio

import pytest

from tests.http.conftest import PREFIX, Api
from tests.http.judge import ROOT, command


@pytest.mark.timeout(600)
async def test_the_service_does_what_its_document_says(api: Api) -> None:
    await api.written()
    document = f"http://127.0.0.1:{api.client.port}{PREFIX}/schema/"
    judge = await asyncio.create_subprocess_exec(
        *command(document, str(api.access), "--phases", "examples,coverage", "--max-examples", "1", "--no-color"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await judge.communicate()

    assert judge.returncode == 0, said.decode()
