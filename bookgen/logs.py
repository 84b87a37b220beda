"""Configures logging. Secrets are hidden in all log lines."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import orjson
import structlog
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

__all__ = ["configure_logs", "redact"]


HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(
    r"password|passwd|secret|token|authorization|cookie|signature|api_?key|credential|fingerprint|prompt|dsn", re.I
)
# Only text is hidden by name. Numbers with such a name are counts of tokens, not secrets.
_SECRET_TEXT = re.compile(
    r"""(?xi)
    (?: (?<=Bearer\ ) [^\s"',]+ )
    | eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*                      # a JWT
    | (?: sk | rk | pk )[-_](?: live | test | ant | proj )[-_][\w-]{8,}
    | whsec_[\w+/=-]{8,}
    | (?<=://) [^\s:/@"']*:[^\s@"']+ (?=@)                 # user:password@host
    | (?<=/reset-password/)(?!\{)[^\s"'?]+ | (?<=/verify-email/)(?!\{)[^\s"'?]+ | (?<=/magic-login/)(?!\{)[^\s"'?]+
    | (?<=/undo-email/)(?!\{)[^\s"'?]+
    | (?<=/approve-email/)(?!\{)[^\s"'?]+
    """
)


_LINES: logging.StreamHandler[TextIO] = logging.StreamHandler()  # writes all lines; its name is the log format
_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
# The same list for every configuration, because a logger keeps the list with which it was first used.
_PROCESSORS: list[Any] = [
    structlog.stdlib.filter_by_level,
    structlog.stdlib.add_logger_name,
    *_SHARED,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]
# Libraries whose debug lines say nothing about this service.
CHATTY = ("httpx", "httpx2", "httpcore", "asyncio", "stripe", "anthropic", "openai", "markdown_it", "PIL", "faker")


def configure_logs(form: str = "json", level: str = "info", stream: TextIO | None = None) -> None:
    """Send all log lines, including those of libraries, to one stream (default: stderr), with secrets hidden.

    `form`: `json` or `console`.
    """
    out = stream or sys.stderr
    renderer: Any = (
        structlog.processors.JSONRenderer(serializer=_dumps)
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=out.isatty())
    )
    last = [structlog.processors.format_exc_info, redact, renderer]
    structlog.configure(
        processors=_PROCESSORS, logger_factory=structlog.stdlib.LoggerFactory(), cache_logger_on_first_use=True
    )
    _LINES.stream = out
    _LINES.set_name(form)
    _LINES.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *_SHARED],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [_LINES]
    root.setLevel(level.upper())
    logging.getLogger("aiohttp.server").addFilter(_is_no_bad_request)
    for chatty in CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _is_no_bad_request(record: logging.LogRecord) -> bool:
    """A log filter. It drops records about malformed requests, whose tracebacks would repeat the request headers."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | RequestPayloadError)


def redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor. It hides a value if its name or its form suggests that the value is a secret."""
    for name, value in event.items():
        event[name] = _hidden(name, value)
    return event


def _hidden(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return HIDDEN if _SECRET_NAME.search(name) else _SECRET_TEXT.sub(HIDDEN, value)
    if isinstance(value, bytes):
        return HIDDEN
    if isinstance(value, Mapping):
        return {key: _hidden(str(key), member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(name, member) for member in value]
    return value


def _dumps(value: Any, **_: Any) -> str:
    return orjson.dumps(value, default=lambda other: _SECRET_TEXT.sub(HIDDEN, str(other))).decode()
