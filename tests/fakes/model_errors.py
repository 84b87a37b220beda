"""How a model server turns a call away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web


def has(body: dict[str, Any], field: str) -> bool:
    value: Any = body
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


# How servers refuse a form of JSON without a word of the field.
IN_REAL_WORDS: dict[str, tuple[int, dict[str, Any]]] = {
    "llama-cpp-python": (
        500,
        {
            "error": {
                "message": "[{'type': 'literal_error', 'loc': ('body', 'type'), 'msg': \"Input should be 'text' or "
                "'json_object'\", 'input': 'json_schema'}]",
                "type": "internal_server_error",
                "param": None,
                "code": None,
            }
        },
    ),
    "unprocessable": (422, {"detail": "Unprocessable Entity"}),
    "bad request": (400, {"error": {"message": "invalid request", "type": "invalid_request_error", "code": None}}),
    "not implemented": (501, {"error": "not implemented"}),
    "grammar": (500, {"error": {"code": 500, "message": "failed to parse grammar", "type": "server_error"}}),
}


def rejection(wire: Any, field: str, style: str) -> web.Response:
    message = f"Unsupported parameter: '{field}' is not supported with this model."
    if style == "pydantic":
        detail = [{"type": "extra_forbidden", "loc": ["body", *field.split(".")], "msg": "Extra inputs not permitted"}]
        return web.json_response({"detail": detail}, status=422)
    if style == "plain":
        return web.json_response({"error": message}, status=400)
    if style in IN_REAL_WORDS:
        status, body = IN_REAL_WORDS[style]
        return web.json_response(body, status=status)
    return web.json_response(wire.error(400, message, field, "unsupported_parameter"), status=400)


def status_response(
    wire: Any,
    status: int = 500,
    retry_after: float | str | None = None,
    message: str = "scripted",
    param: str | None = None,
    code: str | None = None,
) -> web.Response:
    headers = {}
    if isinstance(retry_after, str):
        later = datetime.now(UTC) + timedelta(seconds=float(retry_after.removeprefix("date:")))
        headers["Retry-After"] = format_datetime(later, usegmt=True)
    elif retry_after is not None:
        headers["Retry-After"] = f"{retry_after:g}"
    return web.json_response(wire.error(status, message, param, code), status=status, headers=headers)
