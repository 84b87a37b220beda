"""The request of a call in any protocol: its last message, its schema, and a text that answers it."""

from __future__ import annotations

import json
import re
from typing import Any

from bookgen.providers.offline import answer
from bookgen.providers.text import Message, TextRequest
from tests.fakes.model_script import Call

FORM_IN_THE_PROMPT = "one JSON object"
_SCHEMA = re.compile(r"<schema>(.*)</schema>", re.DOTALL)


def text_for(call: Call, factor: float) -> str:
    fields = {**call.brief}
    fields.pop("total", None)  # otherwise the reply would be the sample story, which has a fixed length
    for name in ("words", "characters"):
        if fields.get(name):
            fields[name] = max(1, round(fields[name] * factor))
    asked = (Message("user", user_text(call.body)),)
    return answer(TextRequest(call.stage, (), asked, 0, schema=_schema(call.body), brief=fields))


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    anthropic = (body.get("output_config") or {}).get("format") or {}
    responses = (body.get("text") or {}).get("format") or {}
    chat = (body.get("response_format") or {}).get("json_schema") or {}
    asked = _SCHEMA.search(user_text(body))
    written = json.loads(asked[1]) if asked else {} if FORM_IN_THE_PROMPT in user_text(body) else None
    return anthropic.get("schema") or responses.get("schema") or chat.get("schema") or written


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("messages") or body.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def _content(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def user_text(body: dict[str, Any]) -> str:
    users = [message for message in _messages(body) if message.get("role") == "user"]
    return _content(users[-1]) if users else ""


def whole_prompt(body: dict[str, Any]) -> str:
    return "".join([str(body.get("instructions") or ""), *(_content(message) for message in _messages(body))])
