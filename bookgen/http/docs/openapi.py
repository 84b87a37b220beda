"""The OpenAPI 3.1 document, generated from the routes, the schemas and the handlers' decorators."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from bookgen import __version__, errors
from bookgen.http.docs import wire_documents
from bookgen.http.edge import contract, replies
from bookgen.http.edge.routing import LARGEST_ID, Handler, Route, is_id
from bookgen.http.edge.schemas import Integer, String
from bookgen.render.formats import LABELS

PREFIX = "/api/v1"

TAGS = {
    "auth": "Registration, sign-in, tokens and passwords.",
    "profile": "The caller's own account.",
    "subscriptions": "Plans, your usage, and what pays for your next book: your plan or a credit.",
    "credits": "Credits that fund one book each.",
    "add-ons": "Products that extend a plan.",
    "books": "Books: create, read, change, delete, copy.",
    "outline": "The chapter plan, edited before writing or while a run is paused.",
    "generation": "Runs that write a book. Poll a run's status to follow it.",
    "chapters": "Read, save and rewrite chapters.",
    "revisions": "Earlier versions of chapters.",
    "proofreading": "Proofreading reports and their suggestions.",
    "covers": "Generate covers and choose one.",
    "illustrations": "Pictures in chapters.",
    "export": "Export the book as a file, or preview it.",
    "site": "Statistics, settings, support and this document.",
    "admin": "For staff.",
    "webhooks": "Events from the payment processor.",
}


@functools.lru_cache(maxsize=16)
def encoded(routes: tuple[Route, ...], public_url: str) -> bytes:
    """The document as JSON. The result is cached, because generating it takes a tenth of a second."""
    return replies.dump(build(routes, public_url))


def build(routes: Iterable[Route], public_url: str) -> dict[str, Any]:
    table, root = list(routes), urlsplit(public_url).path
    plugin = MarshmallowPlugin(schema_name_resolver=_schema_name)
    spec = APISpec(
        "bookgen",
        __version__,
        "3.1.0",
        plugins=[plugin],
        info={
            "summary": f"From a book idea to a finished manuscript: outline, chapters, {LABELS}.",
            "description": wire_documents.OVERVIEW.replace("](/", f"]({root}/"),
            "contact": {"name": "The operator of this server", "url": f"{public_url}{PREFIX}/docs/"},
            "license": {"name": "AGPL-3.0-or-later", "identifier": "AGPL-3.0-or-later"},
        },
        servers=[{"url": f"{root}{PREFIX}", "description": "The current version. /api is its permanent alias."}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        externalDocs={"url": f"{public_url}{PREFIX}/docs/errors/", "description": "The error catalogue"},
    )
    plugin.converter.add_attribute_function(_bounds_of_integers)  # type: ignore[union-attr]
    plugin.converter.add_attribute_function(_pattern_of_texts)  # type: ignore[union-attr]
    _components(spec)
    names = Counter(_name(route.handler) for route in table)
    for route in table:
        operation = _operation(route, plugin, names)
        spec.path(route.path, operations={route.method.lower(): operation})
    document: dict[str, Any] = spec.to_dict()
    _add_keywords(document["components"]["schemas"], plugin)
    return document


def _add_keywords(shapes: dict[str, Any], plugin: MarshmallowPlugin) -> None:
    for (shape, *_), name in plugin.converter.refs.items():  # type: ignore[union-attr]
        shapes[name] |= getattr(shape, "keywords", {})


def _components(spec: APISpec) -> None:
    spec.components.security_scheme(
        "bearer",
        {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "`Authorization: Bearer <TOKEN>`."},
    )
    spec.components.security_scheme("session", {"type": "apiKey", "in": "cookie", "name": "bookgen_session"})
    spec.components.schema("Error", wire_documents.ERROR_SCHEMA)
    for name, header in wire_documents.HEADERS.items():
        spec.components.header(name, header)


def _operation(route: Route, plugin: MarshmallowPlugin, names: Counter[str]) -> dict[str, Any]:
    said = getattr(route.handler, "__apispec__", {})
    operation = {key: said[key] for key in ("tags", "summary", "description")}
    operation["operationId"] = _operation_id(route.handler, names)
    operation["security"] = _security(route)
    if parameters := [
        *_path_parameters(route),
        *_query_parameters(route, plugin),
        *([wire_documents.PREFER_MINIMAL] if _shows_parts(route.handler) else ()),
        *([wire_documents.PREFER] if contract.waits.marks(route.handler) else ()),
        *([wire_documents.IF_NONE_MATCH] if contract.conditional.marks(route.handler) else ()),
        *([wire_documents.IDEMPOTENCY_KEY] if contract.repeatable.marks(route.handler) else ()),
        *([wire_documents.IF_MATCH] if contract.guarded.marks(route.handler) else ()),
    ]:
        operation["parameters"] = parameters
    if body := _request_body(route):
        operation["requestBody"] = body
    successes = _successes(route, said)
    if links := wire_documents.links(operation["operationId"]):
        next(iter(successes.values()))["links"] = links
    operation["responses"] = {**successes, **_refusals(route)}
    operation["x-limit-class"] = route.limit
    if route.gate:
        operation["x-plan-gate"] = route.gate
    return operation


def _shows_parts(handler: Handler) -> bool:
    """Whether the query parameter `fields` selects the fields of the handler's response."""
    schema = contract.query_schema(handler)
    return schema is not None and "fields" in schema.fields


def _operation_id(handler: Handler, names: Counter[str]) -> str:
    name = _name(handler)
    return name if names[name] == 1 else f"{handler.__module__.rpartition('.')[2]}_{name}"


def _name(handler: Handler) -> str:
    return str(getattr(handler, "__name__", ""))


def _security(route: Route) -> list[dict[str, list[str]]]:
    if route.public:
        return []
    return [{"bearer": []}, {"session": []}] if route.cookie else [{"bearer": []}]


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [{"in": "path", "name": name, "required": True, "schema": _path_schema(name)} for name in _names(route)]


def _names(route: Route) -> list[str]:
    return re.findall(r"{(\w+)}", route.path)


def _path_schema(name: str) -> dict[str, Any]:
    if is_id(name):
        return {"type": "integer", "format": "int64", "minimum": 0, "maximum": LARGEST_ID}
    return {"type": "string", "minLength": 1}


def _query_parameters(route: Route, plugin: MarshmallowPlugin) -> list[dict[str, Any]]:
    schema = contract.query_schema(route.handler)
    return plugin.converter.schema2parameters(schema, location="query") if schema else []  # type: ignore[union-attr]


def _request_body(route: Route) -> dict[str, Any] | None:
    schema = contract.body_schema(route.handler)
    if schema is None:
        return None
    content: dict[str, Any] = {"schema": schema}
    if example := _example(schema):
        content["example"] = example
    required = any(field.required for field in schema.fields.values()) and not schema.partial
    return {"required": required, "content": {"application/json": content}}


def _example(schema: Schema) -> dict[str, Any]:
    return {
        name: field.metadata["example"]
        for name, field in schema.fields.items()
        if "example" in field.metadata and not field.dump_only
    }


def _successes(route: Route, said: dict[str, Any]) -> dict[str, Any]:
    read = contract.conditional.marks(route.handler)
    tag = wire_documents.reference("ETag") if read or contract.guarded.marks(route.handler) else {}
    if contract.waits.marks(route.handler):
        tag |= wire_documents.reference("Preference-Applied")
    responses = {}
    for status, answer in said.get("responses", {}).items():
        response: dict[str, Any] = {"description": answer.get("description") or HTTPStatus(int(status)).phrase}
        if answer.get("schema"):
            response["content"] = {"application/json": {"schema": answer["schema"]}}
        elif "content" in answer:
            response["content"] = answer["content"]
        own = tag if str(status) == "200" else {}
        if contract.repeatable.marks(route.handler):
            own = own | wire_documents.reference("Idempotent-Replayed")
        if _shows_parts(route.handler):
            own = own | wire_documents.reference("Preference-Applied")
        response["headers"] = wire_documents.ALWAYS | own | answer.get("headers", {})
        responses[str(status)] = response
    if read:
        responses["304"] = {"description": wire_documents.NOT_MODIFIED, "headers": wire_documents.ALWAYS | tag}
    return responses


def refusals(route: Route) -> list[type[errors.BookgenError]]:
    """The errors that a route can return: those that its handler lists, and those that follow from the route itself."""
    found: list[type[errors.BookgenError]] = [*contract.refusals(route.handler)]
    takes_text = any(not is_id(name) for name in _names(route))
    if contract.body_schema(route.handler) or contract.query_schema(route.handler) or takes_text:
        found.append(errors.InvalidInput)
    if contract.repeatable.marks(route.handler):
        found += [errors.Conflict, errors.InvalidInput]
    if not route.public:
        found += [
            errors.AuthenticationRequired,
            errors.TokenExpired,
            errors.TokenInvalid,
            errors.PermissionDenied,
        ]
    if "{" in route.path:
        found.append(errors.NotFound)
    if route.method in ("POST", "PATCH", "PUT"):
        found.append(errors.PayloadTooLarge)
    if route.limit is not None:
        found.append(errors.RateLimited)
    return list(dict.fromkeys([*found, errors.BookgenError, errors.Unavailable]))


def _refusals(route: Route) -> dict[str, Any]:
    by_status: dict[int, list[errors.ErrorCode]] = {}
    for error in refusals(route):
        codes = by_status.setdefault(error.wire.status, [])
        if error.wire not in codes:
            codes.append(error.wire)
    return {str(status): _refusal(HTTPStatus(status), by_status[status]) for status in sorted(by_status)}


def _refusal(status: HTTPStatus, codes: list[errors.ErrorCode]) -> dict[str, Any]:
    headers = dict(wire_documents.ALWAYS)
    if status is HTTPStatus.UNAUTHORIZED:
        headers |= wire_documents.reference("WWW-Authenticate")
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers |= wire_documents.reference("Retry-After")
    return {
        "description": " ".join(f"`{each.code}`: {each.condition}" for each in codes),
        "headers": headers,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "examples": {each.code: {"value": wire_documents.example(each)} for each in codes},
            }
        },
    }


def _schema_name(schema: type[Schema] | Schema) -> str:
    return (schema if isinstance(schema, type) else type(schema)).__name__.removesuffix("Schema")


def _bounds_of_integers(_converter: Any, field: Any, **_: Any) -> dict[str, Any]:
    return {"format": "int64"} if isinstance(field, Integer) else {}


def _pattern_of_texts(_converter: Any, field: Any, **_: Any) -> dict[str, Any]:
    """The JSON Schema pattern of a text field: no U+0000, which PostgreSQL cannot store; if required, not blank."""
    return {"pattern": field.pattern} if isinstance(field, String) else {}
