"""The OpenAPI document describes the server correctly and completely."""

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


def test_exactly_the_routes_are_documented() -> None:
    documented = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}

    assert documented == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_has_a_summary_and_a_description(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) <= openapi.TAGS.keys()
    assert any(status.startswith("2") for status in operation["responses"])


def test_operation_ids_are_unique() -> None:
    ids = [case.values[2]["operationId"] for case in OPERATIONS]  # type: ignore[index]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_response_lists_its_headers(path: str, method: str, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        assert ALWAYS | {"Deprecation", "Sunset", "Link"} <= response["headers"].keys()
        assert ("WWW-Authenticate" in response["headers"]) is (status == "401")
        assert ("Retry-After" in response["headers"]) is (status in ("429", "503"))


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_error_response_has_examples_with_its_codes(path: str, method: str, operation: dict[str, Any]) -> None:
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
    "CONFLICT": (  # the payment processor may refuse any request
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
def test_an_operation_behind_a_check_lists_the_errors_of_the_check(code: str, call: str) -> None:
    method, path = call.split(" ")
    answers = DOCUMENT["paths"][path][method.lower()]["responses"][str(BY_CODE[code].status)]

    assert code in answers["content"]["application/json"]["examples"]


def test_every_error_code_occurs_in_some_operation() -> None:
    named = set(re.findall(r"`(\w+)`:", str(DOCUMENT["paths"])))

    assert BY_CODE.keys() - named == {"METHOD_NOT_ALLOWED"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_example_of_a_body_is_valid(route: Any) -> None:
    schema = openapi.contract.body_schema(route.handler)
    if schema is None:
        return
    body = DOCUMENT["paths"][route.path][route.method.lower()]["requestBody"]

    load(schema, body["content"]["application/json"].get("example", {}))


async def test_a_book_can_be_created_from_the_documents_example(api: Api) -> None:
    example = DOCUMENT["paths"]["/books/"]["post"]["requestBody"]["content"]["application/json"]["example"]

    assert (await api.post("/books/", example)).status == 201


def test_headers_of_every_response_are_required() -> None:
    headers = DOCUMENT["components"]["headers"]

    assert {name for name, header in headers.items() if not header["required"]} == OPTIONAL
    assert headers.keys() >= ALWAYS


def test_no_schema_is_a_union_that_generated_clients_cannot_type() -> None:
    assert not [name for name, shape in DOCUMENT["components"]["schemas"].items() if {"anyOf", "oneOf"} & shape.keys()]


def test_every_error_code_gets_a_unique_constant_name() -> None:
    code = DOCUMENT["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]

    names = code["x-enum-varnames"]
    assert len(names) == len(code["enum"]) == len({name.upper() for name in names})


@pytest.mark.parametrize("name", [*(each.path for each in FORMATS.values()), "preview_pdf"])
def test_a_file_is_documented_as_binary(name: str) -> None:
    (content,) = DOCUMENT["paths"][f"/books/{{id}}/{name}/"]["post"]["responses"]["200"]["content"].values()

    assert content["schema"] == {"type": "string", "format": "binary"}


def test_links_name_operations_and_fill_their_path_parameters() -> None:
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
def test_the_schema_of_a_body_is_complete(schema: dict[str, Any]) -> None:
    assert list(gaps(schema, "body")) == []


def gaps(schema: dict[str, Any], place: str) -> Iterator[str]:
    """What the schema does not specify: types, fields of objects, bounds of lists, texts and numbers."""
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


def test_export_settings_are_documented_with_their_values() -> None:
    settings = DOCUMENT["components"]["schemas"]["ExportSettings"]["properties"]

    assert settings.keys() == {each.name for each in fields(ExportSettings)}
    assert all(setting["description"] for setting in settings.values())
    assert set(settings["font"]["enum"]) == {"serif", "sans", "dyslexic", None}
    assert (settings["font_size"]["minimum"], settings["font_size"]["maximum"]) == (8, 18)
    assert (settings["isbn"]["maxLength"], settings["paper"]["default"]) == (20, "white")
