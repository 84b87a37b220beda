"""The scripted provider, used by another process."""

from __future__ import annotations

import json
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE

import aiohttp
import pytest

from tests.fakes.model_garbage import GARBAGE
from tests.fakes.model_script import fault
from tests.providers.calls import chapter_request, chat

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}, "facts": {"type": "array"}}}


async def test_another_process_can_script_it_over_http() -> None:
    server = await create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.model_server", "--port", "0", stdout=PIPE, stderr=PIPE
    )
    assert server.stdout is not None
    url = (await server.stdout.readline()).decode().strip()
    async with aiohttp.ClientSession(url) as client:
        script = [{"fault": "status", "status": 503, "times": 2}, {"fault": "garbage", "kind": "null"}]
        await client.post("/control/script", json=script)
        await client.post("/control/settings", json={"usage": False})
        answers = [await client.post("/v1/chat/completions", json=_body()) for _ in range(3)]
        requests = await (await client.get("/control/requests", params={"since": 1})).json()

        assert [answer.status for answer in answers] == [503, 503, 200]
        assert (await answers[2].json())["choices"][0]["message"]["content"] == "null"
        assert [request["fault"] for request in requests] == ["status", "garbage"]
    server.terminate()
    assert await server.wait() == 0


@pytest.mark.parametrize("kind", GARBAGE)
async def test_every_kind_of_garbage_arrives_unchanged(server, kind) -> None:
    server.script(fault("garbage", kind=kind))
    provider = chat(server)

    said = (await provider.attempt(chapter_request(schema=SCHEMA))).text
    good = (await provider.attempt(chapter_request(schema=SCHEMA))).text

    assert said != good
    assert json.loads(good).keys() == {"summary", "facts"}
    await provider.close()


def _body() -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": "Write."}]}
