"""The running service checked against its own OpenAPI document: a short run here, `make contract` for the long one."""

import asyncio

import pytest

from bookgen.render.formats import FORMATS
from tests.http.conftest import PREFIX, Api
from tests.http.judge import PASSWORD, ROOT, command

# These operations draw and typeset for each request, so only their examples are tested here.
OF_FILES = (*(each.path for each in FORMATS.values()), "preview_pdf", "generate_cover", "generate_image")


@pytest.mark.timeout(600)
async def test_the_service_behaves_as_its_openapi_document_says(api: Api) -> None:
    """Every operation gets its examples and, unless it makes files, one generated request: the same in every run."""
    await api.written()

    await judged(api, "examples,fuzzing", "exclude")
    await judged(api, "examples", "include")


async def test_no_example_of_the_document_is_the_password_of_the_account_that_tests_it(visitor: Api) -> None:
    document = str((await visitor.get("/schema/")).body)

    assert "correct horse battery" in document
    assert PASSWORD not in document


async def judged(api: Api, phases: str, files: str) -> None:
    """Run these operations, or all others, with such requests."""
    document = f"http://127.0.0.1:{api.client.port}{PREFIX}/schema/"
    chosen = ["--seed", "1", *(f"--{files}-operation-id={name}" for name in OF_FILES)]
    judge = await asyncio.create_subprocess_exec(
        *command(document, str(api.access), "--phases", phases, "--max-examples", "1", "--no-color", *chosen),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await judge.communicate()

    assert judge.returncode == 0, said.decode()
    assert "Test cases:" in said.decode()
