import asyncpg
import orjson
import pytest

from bookgen import errors
from bookgen.http.edge.errors import as_domain_error, envelope

CODES = [entry.code for entry in errors.catalogue()]


def test_the_catalogue_lists_each_code_once_with_a_remedy() -> None:
    assert len(CODES) == len(set(CODES))
    assert all(entry.condition.endswith(".") and entry.remedy.endswith(".") for entry in errors.catalogue())


def test_an_error_without_its_own_code_uses_its_parents() -> None:
    assert errors.NoOutline.wire is errors.InvalidInput.wire
    assert errors.BookQuotaExceeded.wire.status == 402


def test_the_envelope_is_the_whole_body() -> None:
    response = envelope(errors.InvalidInput(title=["Missing."]), "https://books.example.org")

    assert orjson.loads(response.body) == {
        "error": {
            "code": "VALIDATION_ERROR",
            "message": "title: Missing.",
            "status": 400,
            "details": {"title": ["Missing."]},
            "documentation_url": "https://books.example.org/api/v1/docs/errors/#VALIDATION_ERROR",
        }
    }


def test_a_validation_error_without_a_field_uses_non_field_errors() -> None:
    response = envelope(errors.NoOutline(), "https://books.example.org")

    assert orjson.loads(response.body)["error"]["details"] == {"non_field_errors": [errors.NoOutline.__doc__]}


def test_a_message_names_the_first_three_fields() -> None:
    many = {name: ["Wrong.", "Very wrong."] for name in ("a", "b", "c", "d")}

    assert str(errors.InvalidInput(**many)) == "a: Wrong. b: Wrong. c: Wrong."
    assert str(errors.InvalidInput(non_field_errors=["Send an object."])) == "Send an object."
    assert str(errors.InvalidInput("In words.", a=["Wrong."])) == "In words."
    assert str(errors.NoOutline()) == errors.NoOutline.__doc__


def test_the_details_of_nested_fields_are_a_flat_list() -> None:
    response = envelope(errors.InvalidInput(settings={"font": ["Must be one of: serif, sans."]}), "")

    details = orjson.loads(response.body)["error"]["details"]
    assert details == {"settings": ["font: Must be one of: serif, sans."]}


def test_a_401_names_the_bearer_scheme_and_realm() -> None:
    assert envelope(errors.InvalidCredentials(), "").headers["WWW-Authenticate"] == 'Bearer realm="api"'


def test_both_kinds_of_429_say_when_to_retry() -> None:
    limited = envelope(errors.RateLimited(retry_after=7), "")
    spent = envelope(errors.QuotaExceeded(period_end="2999-01-01T00:00:00Z"), "")

    assert (limited.status, limited.headers["Retry-After"]) == (429, "7")
    assert spent.status == 429
    assert int(spent.headers["Retry-After"]) > 86400
    assert envelope(errors.QuotaExceeded(), "").headers["Retry-After"] == "3600"  # without a period


def test_a_spent_book_allowance_is_402_in_lower_case() -> None:
    response = envelope(errors.BookQuotaExceeded(quota_type="books"), "")

    assert (response.status, orjson.loads(response.body)["error"]["code"]) == (402, "quota_exceeded")


@pytest.mark.parametrize(
    "away",
    [
        *(ConnectionRefusedError(), TimeoutError(), asyncpg.CannotConnectNowError()),
        *(asyncpg.InterfaceError("is closed"), asyncpg.InternalClientError("an unknown protocol state")),
    ],
)
def test_an_unreachable_database_is_a_503_with_a_retry_time(away: Exception) -> None:
    response = envelope(as_domain_error(away, "r1"), "")

    assert (response.status, response.headers["Retry-After"]) == (503, "5")


def test_an_unexpected_error_reveals_only_its_request_id() -> None:
    body = orjson.loads(envelope(as_domain_error(RuntimeError("secret path /etc"), "r1"), "").body)["error"]

    assert (body["status"], body["code"], body["details"]) == (500, "SERVER_ERROR", {"request_id": "r1"})
    assert "secret" not in body["message"]
