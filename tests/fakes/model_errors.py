"""The error responses of model servers."""

from __future__ import annotations

from collections.abc import Callable
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


def _told(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


# Refusals of a JSON mode, in the real servers' words.
IN_REAL_WORDS: dict[str, tuple[int, dict[str, Any]]] = {
    "llama-cpp-python": (
        500,
        _told(
            "[{'type': 'literal_error', 'loc': ('body', 'type'), 'msg': \"Input should be 'text' or 'json_object'\", "
            "'input': 'json_schema'}]",
            type="internal_server_error",
            param=None,
            code=None,
        ),
    ),
    "llama.cpp": (
        400,
        _told("Failed to initialize samplers: failed to parse grammar", code=400, type="invalid_request_error"),
    ),
    "llama.cpp, output": (
        500,
        _told("The model produced output that does not match the expected peg-native format", code=500),
    ),
    "ollama": (400, _told('invalid format: expected "json" or a JSON schema', type="invalid_request_error")),
    "ollama, vocabulary": (
        500,
        _told("failed to load model vocabulary required for format", type="api_error", param=None, code=None),
    ),
    "lm studio": (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "The provided JSON schema contains features not supported by xgrammar.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "tgi": (
        422,
        {
            "error": "Failed to deserialize the JSON body into the target type: response_format: missing field `value` "
            "at line 1 column 168",
            "error_type": "validation",
        },
    ),
    "openrouter": (
        404,
        _told(
            "No endpoints found that can handle the requested parameters. To learn more about provider routing, visit: "
            "https://openrouter.ai/docs/provider-routing",
            code=404,
        ),
    ),
    "deepseek": (
        400,
        _told("This response_format type is unavailable now", type="invalid_request_error", param=None),
    ),
    "groq": (
        400,
        _told(
            "This model does not support response format `json_schema`. See supported models at "
            "https://console.groq.com/docs/structured-outputs#supported-models",
            type="invalid_request_error",
            param="response_format",
        ),
    ),
    "deepinfra": (
        405,
        {"status": "failure", "message": "json_object response format is not supported for model: a/model"},
    ),
    "azure": (
        400,
        _told(
            "Response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
            code="BadRequest",
        ),
    ),
    "localai": (500, _told("rpc error: code = Unknown desc = failed to parse grammar", code=500, type="")),
    "fastapi": (
        422,
        {
            "detail": [
                {
                    "type": "literal_error",
                    "loc": ["body", "response_format", "type"],
                    "msg": "Input should be 'text' or 'json_object'",
                    "input": "json_schema",
                }
            ]
        },
    ),
    "unprocessable": (422, {"detail": "Unprocessable Entity"}),
    "bad request": (400, _told("invalid request", type="invalid_request_error", code=None)),
    "not implemented": (501, {"error": "not implemented"}),
}

# Refusals of a prompt that exceeds the window: the status, whether the requested reply counts, and the body, which
# depends on the window, the prompt's tokens and the requested tokens.
OVER_THE_WINDOW: dict[str, tuple[int, bool, Callable[[int, int, int], dict[str, Any]]]] = {
    "llama.cpp": (
        400,
        False,
        lambda window, prompt, reply: {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": prompt,
                "n_ctx": window,
            }
        },
    ),
    "llama-cpp-python": (
        400,
        True,
        lambda window, prompt, reply: {
            "error": {
                "message": f"This model's maximum context length is {window} tokens, however you requested "
                f"{prompt + reply} tokens ({prompt} in your prompt; {reply} for the completion). Please reduce your "
                "prompt; or completion length.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
    "vllm": (
        400,
        True,
        lambda window, prompt, reply: {
            "object": "error",
            "message": f"This model's maximum context length is {window} tokens. However, you requested "
            f"{prompt + reply} tokens ({prompt} in the messages, {reply} in the completion). Please reduce the length "
            "of the messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "lm studio": (
        400,
        False,
        lambda window, prompt, reply: {
            "error": f"Trying to keep the first {prompt} tokens when context the overflows. However, the model is "
            f"loaded with context length of only {window} tokens, which is not enough. Try to load the model with a "
            "larger context length, or provide a shorter input"
        },
    ),
    "tgi": (
        422,
        True,
        lambda window, prompt, reply: {
            "error": f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {window}. Given: {prompt} "
            f"`inputs` tokens and {reply} `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "mlx": (500, False, lambda window, prompt, reply: {"error": {"message": "Context size has been exceeded."}}),
}


def over_the_window(style: str, window: int, prompt: int, reply: int) -> web.Response | None:
    """The refusal of a prompt with this many tokens and requested reply tokens; None if it fits."""
    status, counts_reply, body = OVER_THE_WINDOW[style]
    if prompt + (reply if counts_reply else 1) <= window:
        return None
    return web.json_response(body(window, prompt, reply), status=status)


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
