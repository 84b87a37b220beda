import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from bookgen.telemetry import configure_logs

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoxfQ.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"
CANARY = "canary-7d1f0c"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logs("json", "debug", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_a_line_is_one_json_object_with_its_fields(lines: io.StringIO) -> None:
    structlog.get_logger("bookgen.test").info("request", route="/books/", status=200, input_tokens=12)

    line = json.loads(lines.getvalue())
    assert (line["event"], line["route"], line["status"], line["input_tokens"]) == ("request", "/books/", 200, 12)
    assert line["level"] == "info"
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize(
    "fields",
    [
        {"password": CANARY},
        {"refresh_token": CANARY},
        {"headers": {"Authorization": f"Bearer {CANARY}", "Cookie": f"bookgen_session={CANARY}"}},
        {"stripe_signature": CANARY},
        {"api_key": CANARY},
        {"prompt": f"Write about {CANARY}"},
        {"body": CANARY.encode()},
        {"url": f"https://books.example.org/api/v1/auth/reset-password/MQ/{CANARY}/"},
        {"url": f"/verify-email/MQ/{CANARY}/"},
        {"dsn": f"postgresql://user:{CANARY}@host/db"},
        {"target": f"postgresql://user:{CANARY}@host/db"},
        {"message": f"sk-ant-{CANARY}"},
        {"message": f"whsec_{CANARY.replace('-', '')}7d1f0c"},
        {"items": [{"secret": CANARY}]},
    ],
)
def test_a_secret_never_reaches_the_log(lines: io.StringIO, fields: dict[str, object]) -> None:
    structlog.get_logger("bookgen.test").warning("something", **fields)

    assert CANARY not in lines.getvalue()
    assert CANARY.replace("-", "") not in lines.getvalue()
    assert "[hidden]" in lines.getvalue()


def test_a_token_inside_an_exception_is_hidden(lines: io.StringIO) -> None:
    try:
        raise ValueError(f"cannot read {JWT}")
    except ValueError:
        structlog.get_logger("bookgen.test").exception("failed")

    assert JWT not in lines.getvalue()
    assert "ValueError" in json.loads(lines.getvalue())["exception"]


def test_lines_of_libraries_are_redacted_as_well(lines: io.StringIO) -> None:
    logging.getLogger("some.library").warning("calling with Bearer %s", JWT)

    assert JWT not in lines.getvalue()
    assert json.loads(lines.getvalue())["level"] == "warning"
