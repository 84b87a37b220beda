"""What the OpenAPI document says about every answer: headers, the error envelope, the overview."""

from __future__ import annotations

from typing import Any

from bookgen.http.catalogue import CATALOGUE, Entry

OVERVIEW = """\
A book goes through these calls:

1. `POST /books/` makes a draft.
2. `POST /books/{id}/generate-outline/` plans its chapters; `update-outline` and `regenerate-chapters` change the plan.
3. `POST /books/{id}/generate/` starts the writing and answers 202 at once.
4. `GET /books/{id}/generation-status/` tells how far it is: poll every 15 to 30 seconds until `completed`.
5. `POST /books/{id}/export_pdf/`, `export_docx/`, `export_epub/` answer the files.

Every path ends in a slash; a slashless one answers 301, and a POST loses its body there. Lists are bare arrays.
Unknown request keys are dropped. An error is `{"error": {code, message, status, details?, documentation_url}}`:
branch on `code`. Every answer carries `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.
"""


def _integer(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "integer", "minimum": 0}}


def _string(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "string"}}


HEADERS: dict[str, dict[str, Any]] = {
    "RateLimit-Limit": _integer("The capacity of the caller's bucket for this class of endpoints."),
    "RateLimit-Remaining": _integer("Whole requests left in it."),
    "RateLimit-Reset": _integer("Seconds until it is full again."),
    "Retry-After": _integer("Seconds to wait; authoritative."),
    "X-API-Version": _string("The version that answered."),
    "X-API-Version-Latest": _string("The newest version."),
    "X-Request-Id": _string("The caller's request id, or one that was made."),
    "WWW-Authenticate": _string('Bearer realm="api"'),
}


def reference(name: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"}}


ALWAYS: dict[str, Any] = {
    name: {"$ref": f"#/components/headers/{name}"}
    for name in HEADERS
    if name not in ("Retry-After", "WWW-Authenticate")
}

ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "status", "documentation_url"],
            "properties": {
                "code": {
                    "type": "string",
                    "enum": [entry.code for entry in CATALOGUE],
                    "description": "Stable; branch on it, never on the message.",
                },
                "message": {"type": "string", "description": "For people."},
                "status": {"type": "integer", "description": "The HTTP status."},
                "details": {"type": "object", "description": "Its shape depends on the code."},
                "documentation_url": {"type": "string", "format": "uri"},
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}


def example(entry: Entry) -> dict[str, Any]:
    body: dict[str, Any] = {"code": entry.code, "message": entry.condition, "status": entry.status}
    if entry.details:
        body["details"] = entry.details
    body["documentation_url"] = f"https://books.example.org/api/v1/docs/errors/#{entry.code}"
    return {"error": body}
