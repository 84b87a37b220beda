"""`bookgen mcp` checked by the protocol's own conformance suite, which speaks HTTP, so the same server is served over
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import uvicorn
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

from bookgen.client.client import Client
from bookgen.client.errors import Conflict
from bookgen.commands.mcp import build
from bookgen.commands.mcp_refusals import explained
from bookgen.commands.mcp_tasks import brief
from bookgen.errors import UpstreamAIError
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from tests.checkers import CONFORMANCE
from tests.http.conftest import PASSWORD, OpenApi, open_api

__all__ = ["open_api"]

JSON = dict[str, Any]
EXPECTED = Path(__file__).parent / "mcp_conformance.yaml"
# The newest by default. CONFORMANCE=all also tests the revision that most clients speak.
REVISIONS = ["2026-07-28", *(["2025-11-25"] if os.environ.get("CONFORMANCE") == "all" else [])]
# Of the task extension: no run asks the user, fails with a protocol error, or is refused to a client without
# task support; headers belong to the other transport.
NOT_OFFERED_OF_TASKS = {
    "sep-2663-tasks-get-status-input-required",
    "tasks-mrtr-tasks-update-resumes",
    "tasks-mrtr-partial-fulfillment",
    "sep-2663-tasks-get-status-failed",
    "sep-2663-server-returns-missing-capability-when-required",
    "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
}


class Person(BaseModel):
    username: str
    email: str


class Name(BaseModel):
    name: str


class Consent(BaseModel):
    ok: bool


async def person(message: str) -> Elicit[Person]:
    return Elicit(message, Person)


async def name() -> Elicit[Name]:
    return Elicit("Whom is the book for?", Name)


async def consent() -> Elicit[Consent]:
    return Elicit("Please confirm", Consent)


async def text() -> str:
    """Text, as every tool returns it."""
    return "This is a simple text response for testing."


async def greeted(name: str) -> str:
    """Text with an argument."""
    return f"Hello, {name}!"


async def refused() -> str:
    """A refusal by the API, as every tool reports it."""
    raise Conflict(409, "CONFLICT", "This tool intentionally returns an error for testing")


async def asked_who(message: str, answer: Annotated[ElicitationResult[Person], Resolve(person)]) -> str:
    """Ask the user in the way `write` does."""
    return f"User response: {answer}"


async def asked_whether(answer: Annotated[ElicitationResult[Consent], Resolve(consent)]) -> str:
    """Ask the user in the way `write` does."""
    return "state-ok" if isinstance(answer, AcceptedElicitation) else "declined"


class SuiteJobs:
    """The long jobs of the suite, as books that are written."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def slow_compute(self, seconds: int, label: str) -> JSON:
        """Takes this many seconds."""
        return await self._written(f"The Book of {seconds} Seconds")

    async def failing_job(self) -> JSON:
        """Fails."""
        return await self._written("The Lost Book")

    async def test_tool_with_task(self, answer: Annotated[ElicitationResult[Name], Resolve(name)]) -> JSON:
        """Ask the user before it starts, in the way `write` does."""
        assert isinstance(answer, AcceptedElicitation)
        return await self._written(f"A Book for {answer.data.name}")

    async def _written(self, title: str) -> JSON:
        """Start a run that does not wait for another."""
        for other in await self._client.books.list():
            if other.status == "generating":
                with contextlib.suppress(Conflict):  # it has ended in the meantime
                    await self._client.stop(other.id)
        book = await self._client.books.create(title, chapter_count=1, target_word_count=200)
        await book.outline()
        await book.start()
        return brief(await self._client.status(book.id))


class Writer(OfflineModel):
    """Takes as long for a chapter as the title says, or fails."""

    async def complete(self, request: TextRequest) -> TextReply:
        told = "".join(block.text for block in request.system)
        if request.stage == "chapter" and "The Lost Book" in told:
            raise UpstreamAIError("The model is lost.", stage=request.stage, retryable=False)
        if request.stage == "chapter" and (slow := re.search(r"The Book of (\d+) Seconds", told)):
            await asyncio.sleep(int(slow[1]))
        return await super().complete(request)


# The tools that the suite calls, built like our own.
CALLED = {
    "greet": greeted,
    "test_simple_text": text,
    "test_error_handling": refused,
    "test_elicitation": asked_who,
    "test_input_required_result_elicitation": asked_whether,
    "test_input_required_result_request_state": asked_whether,
    "test_input_required_result_tampered_state": asked_whether,
}


@pytest.fixture
async def url(open_api: OpenApi) -> AsyncIterator[str]:
    """The URL where the tools of an account are served."""
    visitor = await open_api(model=Writer())
    await visitor.as_new_account("ada")
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # malformed requests of the suite are logged with tracebacks
    async with Client(str(visitor.client.make_url(""))) as client:
        await client.login("ada", PASSWORD)
        async with served(client) as url:
            yield url


@contextlib.asynccontextmanager
async def served(client: Client) -> AsyncIterator[str]:
    jobs = SuiteJobs(client)
    started = {job.__name__: job for job in (jobs.slow_compute, jobs.failing_job, jobs.test_tool_with_task)}
    server = build(client, sample=False, starting=started)
    for name, tool in {**CALLED, **started}.items():
        server.tool(name, structured_output=False)(explained(tool))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_config=None))
        serving = asyncio.create_task(http.serve(sockets=[listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        http.should_exit = True
        await serving


@pytest.mark.checker("mcp-conformance")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_conformance_suite_of_the_protocol_passes_for_everything_offered(
    url: str, revision: str, tmp_path: Path
) -> None:
    judge = await asyncio.create_subprocess_exec(
        CONFORMANCE / "node", CONFORMANCE / "conformance", "server", "--url", url, "--requirements", revision,
        "--expected-failures", EXPECTED, "--output-dir", tmp_path / "results",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    told, _ = await judge.communicate()

    print(told.decode().partition("=== SUMMARY ===")[2])
    assert judge.returncode == 0
    assert failed_of_tasks(tmp_path / "results") == (NOT_OFFERED_OF_TASKS if revision == REVISIONS[0] else set())


def failed_of_tasks(results: Path) -> set[str]:
    """The failed scenarios of the extension, which the suite runs but leaves out of its verdict."""
    failed = set()
    for file in results.glob("server-tasks-*/checks.json"):
        failed |= {check["id"] for check in json.loads(file.read_text()) if check["status"] == "FAILURE"}
    return failed
