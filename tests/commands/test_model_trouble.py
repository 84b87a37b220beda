"""Model problems that a command's own server logs are printed in the terminal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bookgen.commands.model_trouble import failures_reported

AWAY = {
    "event": "model_call_failed",
    "model": "openai:local",
    "message": "could not be reached",
    "address": "http://127.0.0.1:1/v1",
    "detail": "Connection refused",
    "to_do": "Is it running?",
}
CUT = {"event": "prompt_was_cut", "model": "openai:local", "to_do": "Give the model a longer context."}


async def test_a_model_problem_is_printed_once_while_the_command_waits(tmp_path: Path) -> None:
    log, said, heard = tmp_path / "write.log", list[str](), asyncio.Event()
    log.write_text("no JSON\n[]\n" + json.dumps({"event": "request"}) + "\n")

    def say(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    async with failures_reported(log, say):
        with log.open("a") as lines:
            lines.write(f"{json.dumps(AWAY)}\n{json.dumps(AWAY)}\n{json.dumps(CUT)[:20]}")
        await heard.wait()
        with log.open("a") as lines:
            lines.write(json.dumps(CUT)[20:] + "\n")

    assert said == [
        "openai:local at http://127.0.0.1:1/v1: The model provider could not be reached: "
        "Connection refused. Is it running?",
        "openai:local read only part of its prompt. Give the model a longer context.",
    ]


async def test_nothing_is_printed_for_a_server_without_a_local_log(tmp_path: Path) -> None:
    said = list[str]()
    async with failures_reported(None, said.append), failures_reported(tmp_path / "none", said.append):
        pass

    assert said == []
