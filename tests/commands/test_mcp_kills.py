"""A scripted agent finishes its books although the MCP server and the service are killed at random moments."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from bookgen.client.client import Client as Api
from tests.http.conftest import PASSWORD
from tests.service import ServiceProcess, environment

BOOKS = int(os.environ.get("MCP_BOOKS", "1"))
SEED = int(os.environ.get("MCP_SEED") or random.randrange(10**9))
A_BOOK_TAKES = 3.0  # seconds until it is known
PATIENCE_SECONDS = 600
# The process id is written here for the test.
KILLABLE = ("/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"')


class Agent:
    """Calls tools like an agent: whatever failed or was never answered is retried from the beginning."""

    def __init__(self, folder: Path, url: str) -> None:
        self._number = folder / "mcp.pid"
        shell, *before = KILLABLE
        command = [sys.executable, "-m", "bookgen", "mcp", "--server", url, "--login", "ada", "--password", PASSWORD]
        self._process = StdioServerParameters(
            command=shell, args=[*before, str(self._number), *command], env=environment(folder), cwd=folder
        )
        self._log = folder / "mcp.log"
        self.failures = 0

    def kill(self) -> None:
        """Kill the MCP server."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, ValueError):
            os.kill(int(self._number.read_text()), signal.SIGKILL)

    async def make(self, title: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self._made(title):
                self.failures += 1

    async def _made(self, title: str) -> bool:
        try:
            async with Client(self._process, read_timeout_seconds=60) as client:
                book = await ask(client, "make_book", title=title, idea="A widow smuggles salt.", chapters=2, words=400)
                status = await ask(client, "write", book_id=book["id"])
                while status["generation_status"] == "running":
                    status = await ask(client, "status", book_id=book["id"], wait_seconds=5)
                return bool(status["generation_status"] == "completed")
        except Exception:  # any error that a killed process causes
            return False


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    [text] = [part.text for part in result.content]
    assert not result.is_error, text
    return json.loads(text)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def kill_one(dice: random.Random, seconds: float, agent: Agent, service: ServiceProcess) -> str:
    """Kill one of them at a random moment within this many seconds."""
    await asyncio.sleep(dice.uniform(0, seconds))
    if dice.random() < 0.5:
        agent.kill()
        return "mcp"
    await service.kill()
    await service.start()
    return "server"


@pytest.mark.timeout(120 + 60 * BOOKS)
async def test_every_book_is_created_once_whichever_process_is_killed(
    tmp_path: Path, dsn: str, pool: asyncpg.Pool, port: int
) -> None:
    dice, kills = random.Random(SEED), Counter[str]()
    titles = [f"The Salt Road {number}" for number in range(BOOKS)]
    settings = {
        "BOOKGEN_PORT": port,
        "BOOKGEN_DATABASE_URL": dsn,
        "BOOKGEN_MODEL": "offline",
        "BOOKGEN_RATE_AUTH": "1000/minute",
    }
    async with (
        ServiceProcess(tmp_path, **settings) as service,
        Api(service.url) as api,
    ):
        await api.register("ada", "ada@example.com", PASSWORD)
        agent = Agent(tmp_path, service.url)
        seconds = A_BOOK_TAKES
        for title in titles:
            killer = asyncio.create_task(kill_one(dice, seconds, agent, service))
            begun, before = time.monotonic(), agent.failures
            await agent.make(title)
            if agent.failures == before:
                seconds = time.monotonic() - begun
            kills[await killer] += 1

    made = await pool.fetch("SELECT title FROM book ORDER BY id")
    print(f"MCP_SEED={SEED}: {len(made)} books, killed {dict(kills)}, {agent.failures} sessions tried again")
    assert [row["title"] for row in made] == titles
    assert await pool.fetchval("SELECT count(*) FROM chapter WHERE word_count > 0") == 2 * BOOKS
    assert await pool.fetchval("SELECT count(*) FROM chapter_revision") == 0
