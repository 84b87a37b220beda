import io
import json
import logging

import pytest
import structlog

from tests.canaries import CANARY

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoxfQ.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"


def test_a_line_is_one_json_object_with_its_fields(log_lines: io.StringIO) -> None:
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


def test_lines_of_libraries_are_redacted_as_well(log_lines: io.StringIO) -> None:
    logging.getLogger("some.library").warning("calling with Bearer %s", JWT)

    assert JWT not in log_lines.getvalue()
    assert json.loads(log_lines.getvalue())["level"] == "warning"
