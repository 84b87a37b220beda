"""The document says what the server does."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from openapi_spec_validator import validate

from bookgen.errors import catalogue
from bookgen.http.docs import openapi
from bookgen.http.edge.replies import dump
from bookgen.http.edge.schemas import load
from bookgen.http.routes import ROUTES
from bookgen.render.formats import FORMATS
from bookgen.render.settings import ExportSettings
from tests.http.conftest import Api
from tests.http.document import DOCUMENT

BY_CODE = {entry.code: entry for entry in catalogue()}

ALWAYS = {
    "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
    "X-API-Version", "X-API-Version-Latest", "X-Request-Id",
}  # fmt: skip
OPTIONAL = {"Deprecation", "Sunset", "Link", "Preference-Applied", "Idempotent-Replayed"}
OPERATIONS = [
    pytest.param(path, method, operation, id=f"{method.upper()} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


async def test_the_served_document_is_valid_openapi_3_1(visitor: Api) -> None:
    reply = await visitor.get("/schema/")

    assert reply.body["openapi"] == "3.1.0"
    validate(reply.body)
    assert reply.raw == (await visitor.get("/schema/", prefix="/api")).raw == dump(DOCUMENT)


def test_every_route_is_documented_and_nothing_else() -> None:
    documented = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}

    assert documented == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_says_what_it_is_for(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) <= openapi.TAGS.keys()
    assert any(status.startswith("2") for status in operation["responses"])


def test_operation_ids_are_unique() -> None:
    ids = [case.values[2]["operationId"] for case in OPERATIONS]  # type: ignore[index]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_answer_names_its_headers(path: str, method: str, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        assert ALWAYS | {"Deprecation", "Sunset", "Link"} <= response["headers"].keys()
        assert ("WWW-Authenticate" in response["headers"]) is (status == "401")
        assert ("Retry-After" in response["headers"]) is (status in ("429", "503"))


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_refusal_shows_its_codes_as_they_are_sent(path: str, method: str, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        if not status.startswith(("4", "5")):
            continue
        examples = response["content"]["application/json"]["examples"]
        for code, example in examples.items():
            assert BY_CODE[code].status == int(status)
            assert example["value"]["error"]["code"] == code


GATES = {
    "QUOTA_EXCEEDED": (
        "POST /books/{id}/generate-outline/",
        "POST /books/{id}/regenerate-chapters/",
        "POST /books/{id}/generate/",
        "POST /books/{id}/resume-generation/",
        "POST /books/{id}/produce/",
        "POST /books/{id}/generate-cover/",
        "POST /chapters/{id}/regenerate/",
        "POST /chapters/{id}/generate-image/",
        "POST /proofreading-reports/",
    ),
    "CONFLICT": (  # the payment processor may refuse whatever it is asked
        "POST /auth/subscriptions/portal/",
        "GET /auth/subscriptions/payments/",
        "POST /auth/subscriptions/checkout/",
        "POST /auth/addons/checkout/",
        "POST /auth/credits/checkout/",
        "POST /auth/credits/guest-checkout/",
    ),
    "PAYMENTS_NOT_CONFIGURED": ("POST /auth/subscriptions/portal/", "GET /auth/subscriptions/payments/"),
}


@pytest.mark.parametrize(("code", "call"), [(code, call) for code, calls in GATES.items() for call in calls])
def test_what_passes_a_gate_names_its_refusal(code: str, call: str) -> None:
    method, path = call.split(" ")
    answers = DOCUMENT["paths"][path][method.lower()]["responses"][str(BY_CODE[code].status)]

    assert code in answers["content"]["application/json"]["examples"]


def test_every_error_code_can_be_met_somewhere() -> None:
    named = set(re.findall(r"`(\w+)`:", str(DOCUMENT["paths"])))

    assert BY_CODE.keys() - named == {"METHOD_NOT_ALLOWED"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_example_of_a_body_passes_its_own_validation(route: Any) -> None:
    schema = openapi.contract.body_schema(route.handler)
    if schema is None:
        return
    body = DOCUMENT["paths"][route.path][route.method.lower()]["requestBody"]

    load(schema, body["content"]["application/json"].get("example", {}))


async def test_a_draft_is_made_from_the_documents_own_example(api: Api) -> None:
    example = DOCUMENT["paths"]["/books/"]["post"]["requestBody"]["content"]["application/json"]["example"]

    assert (await api.post("/books/", example)).status == 201


def test_headers_that_are_on_every_answer_are_required() -> None:
    headers = DOCUMENT["components"]["headers"]

    assert {name for name, header in headers.items() if not header["required"]} == OPTIONAL
    assert headers.keys() >= ALWAYS


def test_no_shape_is_a_union_that_generated_clients_take_for_anything() -> None:
    assert not [name for name, shape in DOCUMENT["components"]["schemas"].items() if {"anyOf", "oneOf"} & shape.keys()]


def test_every_error_code_has_a_constants_name_of_its_own() -> None:
    code = DOCUMENT["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]

    names = code["x-enum-varnames"]
    assert len(names) == len(code["enum"]) == len({name.upper() for name in names})


@pytest.mark.parametrize("name", [*(each.path for each in FORMATS.values()), "preview_pdf"])
def test_a_file_is_said_to_be_bytes(name: str) -> None:
    (content,) = DOCUMENT["paths"][f"/books/{{id}}/{name}/"]["post"]["responses"]["200"]["content"].values()

    assert content["schema"] == {"type": "string", "format": "binary"}


def test_links_lead_to_operations_and_fill_their_paths() -> None:
    paths_of = {case.values[2]["operationId"]: case.values[0] for case in OPERATIONS}  # type: ignore[index]
    links = [
        link
        for case in OPERATIONS
        for response in case.values[2]["responses"].values()  # type: ignore[index]
        for link in response.get("links", {}).values()
    ]

    assert len(links) > 5
    for link in links:
        assert set(re.findall(r"{(\w+)}", paths_of[link["operationId"]])) == link["parameters"].keys()


BODIES = [
    pytest.param(content["schema"], id=f"{method.upper()} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for content in operation.get("requestBody", {}).get("content", {}).values()
]


@pytest.mark.parametrize("schema", BODIES)
def test_a_body_says_all_that_a_client_has_to_know_to_fill_it(schema: dict[str, Any]) -> None:
    assert list(gaps(schema, "body")) == []


def gaps(schema: dict[str, Any], place: str) -> Iterator[str]:
    """What the schema leaves open: types, the fields of objects, the bounds of lists, texts and numbers."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    choices = [*schema.get("anyOf", ()), *schema.get("allOf", ())]
    for choice in choices:
        yield from gaps(choice, place)
    if choices or "enum" in schema:
        return
    types = set(schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")])
    if types == {None}:
        yield f"{place} has no type"
    if "object" in types and not schema.get("properties"):
        yield f"{place} is an object without fields"
    for name, field in schema.get("properties", {}).items():
        yield from gaps(field, f"{place}.{name}")
    if "array" in types:
        if "maxItems" not in schema:
            yield f"{place} is a list without a bound"
        yield from gaps(schema["items"], f"{place}[]")
    if "string" in types and not {"maxLength", "pattern"} & schema.keys():
        yield f"{place} is a text without a bound"
    if types & {"integer", "number"} and not {"minimum", "maximum"} <= schema.keys():
        yield f"{place} is a number without bounds"


def test_the_settings_of_an_export_are_documented_with_their_values() -> None:
    settings = DOCUMENT["components"]["schemas"]["ExportSettings"]["properties"]

    assert settings.keys() == {each.name for each in fields(ExportSettings)}
    assert all(setting["description"] for setting in settings.values())
    assert set(settings["font"]["enum"]) == {"serif", "sans", "dyslexic", None}
    assert (settings["font_size"]["minimum"], settings["font_size"]["maximum"]) == (8, 18)
    assert (settings["isbn"]["maxLength"], settings["paper"]["default"]) == (20, "white")
