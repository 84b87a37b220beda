"""`bookgen mcp` judged by the protocol's own conformance suite, which speaks HTTP: the same server, so served."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import pytest
import uvicorn
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

from bookgen.client.client import Client
from bookgen.client.errors import Conflict
from bookgen.commands.mcp import Tools, build, explained
from tests.checkers import CONFORMANCE
from tests.http.conftest import PASSWORD, Api, open_api, visitor

__all__ = ["open_api", "visitor"]

EXPECTED = Path(__file__).parent / "mcp_conformance.yaml"
# The newest by default; CONFORMANCE=all for that which most clients speak as well.
REVISIONS = ["2026-07-28", *(["2025-11-25"] if os.environ.get("CONFORMANCE") == "all" else [])]


class Person(BaseModel):
    username: str
    email: str


class Consent(BaseModel):
    ok: bool


async def person(message: str) -> Elicit[Person]:
    return Elicit(message, Person)


async def consent() -> Elicit[Consent]:
    return Elicit("Please confirm", Consent)


async def text() -> str:
    """Text, as every tool answers."""
    return "This is a simple text response for testing."


async def refused() -> str:
    """A refusal of the API, as every tool tells it."""
    raise Conflict(409, "CONFLICT", "This tool intentionally returns an error for testing")


async def asked_who(message: str, answer: Annotated[ElicitationResult[Person], Resolve(person)]) -> str:
    """Asks the reader by the means of `write`."""
    return f"User response: {answer}"


async def asked_whether(answer: Annotated[ElicitationResult[Consent], Resolve(consent)]) -> str:
    """The same."""
    return "state-ok" if isinstance(answer, AcceptedElicitation) else "declined"


# What the suite calls, made with the means of our own tools.
CALLED = {
    "test_simple_text": text,
    "test_error_handling": refused,
    "test_elicitation": asked_who,
    "test_input_required_result_elicitation": asked_whether,
    "test_input_required_result_request_state": asked_whether,
    "test_input_required_result_tampered_state": asked_whether,
}


@pytest.fixture
async def url(visitor: Api) -> AsyncIterator[str]:
    """Where the tools of an account are served."""
    await visitor.as_new_account("ada")
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what the suite asks wrongly is told with its traceback
    async with Client(str(visitor.client.make_url(""))) as client:
        await client.login("ada", PASSWORD)
        async with served(Tools(client)) as url:
            yield url


@contextlib.asynccontextmanager
async def served(tools: Tools) -> AsyncIterator[str]:
    server = build(tools, sample=False)
    for name, tool in CALLED.items():
        server.tool(name, structured_output=False)(explained(tool))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_config=None))
        serving = asyncio.create_task(http.serve(sockets=[listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        http.should_exit = True
        await serving


@pytest.mark.checker("mcp-conformance")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_protocols_own_suite_passes_in_all_that_is_offered(url: str, revision: str) -> None:
    judge = await asyncio.create_subprocess_exec(
        CONFORMANCE / "node", CONFORMANCE / "conformance", "server", "--url", url, "--requirements", revision,
        "--expected-failures", EXPECTED, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    told, _ = await judge.communicate()

    print(told.decode().partition("=== SUMMARY ===")[2])
    assert judge.returncode == 0
