import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog

from bookgen import logs
from tests.canaries import CANARY, log_as_the_service_does

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoxfQ.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"


def test_a_log_line_is_one_json_object_with_its_fields(log_lines: io.StringIO) -> None:
    structlog.get_logger("bookgen.test").info("request", route="/books/", status=200, input_tokens=12)

    line = json.loads(log_lines.getvalue())
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
        {"message": f"whsec_{CANARY}"},
        {"items": [{"secret": CANARY}]},
    ],
)
def test_a_secret_never_reaches_the_log(log_lines: io.StringIO, fields: dict[str, object]) -> None:
    structlog.get_logger("bookgen.test").warning("something", **fields)

    assert CANARY not in log_lines.getvalue()
    assert "[hidden]" in log_lines.getvalue()


def test_a_token_inside_an_exception_is_hidden(log_lines: io.StringIO) -> None:
    try:
        raise ValueError(f"cannot read {JWT}")
    except ValueError:
        structlog.get_logger("bookgen.test").exception("failed")

    assert JWT not in log_lines.getvalue()
    assert "ValueError" in json.loads(log_lines.getvalue())["exception"]


def test_log_lines_of_libraries_are_redacted_as_well(log_lines: io.StringIO) -> None:
    logging.getLogger("some.library").warning("calling with Bearer %s", JWT)

    assert JWT not in log_lines.getvalue()
    assert json.loads(log_lines.getvalue())["level"] == "warning"


def test_a_log_has_the_format_and_the_level_that_were_chosen(logging_as: Callable[..., io.StringIO]) -> None:
    quiet = logging_as("json", "warning")
    structlog.get_logger("bookgen.test").info("request", status=200)
    assert not quiet.getvalue()

    readable = logging_as("console", "info")
    structlog.get_logger("bookgen.test").info("request", request_id="id-1")
    assert "id-1" in readable.getvalue()
    assert not readable.getvalue().startswith("{")


def test_a_log_that_cannot_be_written_does_not_fail_a_request(
    logging_as: Callable[..., io.StringIO], capsys: pytest.CaptureFixture[str]
) -> None:
    logging_as("json", "info").close()

    structlog.get_logger("bookgen.test").info("request", request_id="id-1")

    assert "I/O operation on closed file" in capsys.readouterr().err


@pytest.fixture
def logging_as() -> Iterator[Callable[..., io.StringIO]]:
    """A logger with this format and level until the test ends."""

    def logged(form: str, level: str) -> io.StringIO:
        stream = io.StringIO()
        logs.configure_logs(form, level, stream)
        return stream

    yield logged
    log_as_the_service_does()
