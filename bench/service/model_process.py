"""The scripted model server as a separate process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from bench.service.processes import ROOT


@dataclass(frozen=True, slots=True)
class ModelProcess:
    """A running `bench.service.model`."""

    port: int

    @property
    def settings(self) -> dict[str, str]:
        """The settings with which a service writes with this model, without a limit on concurrent calls."""
        return {"BOOKGEN_MODEL": "openai:bench", "OPENAI_BASE_URL": f"http://127.0.0.1:{self.port}/v1"}

    async def stats(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._told, "stats")

    async def answer_within(self, ms: float) -> None:
        """Set how long calls take that begin from now on."""
        await asyncio.to_thread(self._told, f"ms/{ms}")

    def _told(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{what}") as answer:
            told: dict[str, Any] = json.load(answer)
            return told


@contextlib.asynccontextmanager
async def model_process(*, ms: float = 0, piece: int = 0, silent: str = "") -> AsyncIterator[ModelProcess]:
    command = [sys.executable, "-m", "bench.service.model", f"--ms={ms}", f"--piece={piece}", f"--silent={silent}"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    if process.stdout is None:
        raise RuntimeError("the model server has no output")
    try:
        yield ModelProcess(int(await process.stdout.readline()))
    finally:
        process.terminate()
        await process.wait()
