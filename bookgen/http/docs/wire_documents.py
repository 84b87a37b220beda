"""Parts of the OpenAPI document: the overview, common headers, and the error envelope."""

from __future__ import annotations

from typing import Any

from bookgen.errors import ErrorCode, catalogue

OVERVIEW = """\
A book goes through these calls:

1. `POST /books/` creates a draft.
2. `POST /books/{id}/generate-outline/` plans its chapters; `update-outline` and `regenerate-chapters` change the plan.
3. `POST /books/{id}/generate/` starts writing and returns 202 immediately.
4. `GET /books/{id}/generation-status/` returns the progress. Poll it every 15 to 30 seconds until `completed`.
5. `POST /books/{id}/export_pdf/` returns the file. Every other format has its own call.

`POST /books/{id}/produce/` does all of this in one run: the outline, the chapters, a cover, the files.

Every path ends in a slash; a path without it returns 301, and a POST loses its body. Lists are bare arrays.
Unknown request keys are dropped. An error is `{"error": {code, message, status, details?, documentation_url}}`:
branch on `code`; [the catalogue](/api/v1/docs/errors/) says how to handle each. Every response has
`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. Responses to reads have an `ETag`: send it as
`If-None-Match` to get 304 if nothing has changed. To try the calls here, log in, then **Authorize** with
`tokens.access`.

[How an agent drives the API](/api/v1/docs/agents/)
"""


def _integer(text: str) -> dict[str, Any]:
    return {"description": text, "required": True, "schema": {"type": "integer", "minimum": 0}}


def _string(text: str, *, required: bool = True) -> dict[str, Any]:
    return {"description": text, "required": required, "schema": {"type": "string"}}


HEADERS: dict[str, dict[str, Any]] = {
    "RateLimit-Limit": _integer("Requests allowed in a full window for this class of endpoints."),
    "RateLimit-Remaining": _integer("Requests that you can send now."),
    "RateLimit-Reset": _integer(
        "Seconds until the whole limit is available again. The limit refills continuously, so the next request is "
        "allowed much earlier. After a 429, `Retry-After` says when."
    ),
    "Retry-After": _integer("Seconds to wait before you retry. Takes precedence over `RateLimit-Reset`."),
    "X-API-Version": _string("The API version of this response."),
    "X-API-Version-Latest": _string("The newest API version."),
    "X-Request-Id": _string("The request id that you sent, or a generated one."),
    "WWW-Authenticate": _string('Bearer realm="api"'),
    "Deprecation": _string(
        "Only for a deprecated version: the deprecation date, as `@` and a Unix time.", required=False
    ),
    "Sunset": _string("Only for a deprecated version: the removal date (RFC 8594).", required=False),
    "Link": _string('Only for a deprecated version: rel="deprecation", a link to instructions.', required=False),
    "Preference-Applied": _string(
        "The part of `Prefer` that was followed: `wait=N` if the server has waited, or `return=minimal`.",
        required=False,
    ),
    "Idempotent-Replayed": _string("`true` if this is the stored answer of an earlier request.", required=False),
    "ETag": _string("Identifies this version of the response. Send it as If-None-Match next time."),
}


def _optional(name: str, text: str, *, pattern: str | None = None, **more: str) -> dict[str, Any]:
    """The OpenAPI parameter of an optional request header. `text`: its description. `more`: further OpenAPI members."""
    schema = {"type": "string"} | ({"pattern": pattern} if pattern else {})
    return {"in": "header", "name": name, "required": False, "description": text, "schema": schema, **more}


PREFER = _optional(
    "Prefer",
    "`wait=N` (RFC 7240), used with If-None-Match: returns as soon as the resource changes, or 304 after N "
    "seconds. N is at most 60.",
    example="wait=30",
)
IDEMPOTENCY_KEY = _optional(
    "Idempotency-Key",
    "Makes the call safe to repeat: 1 to 255 characters of your choice, such as a UUID. For 24 hours, the same call "
    "with the same key returns the first answer and is not carried out again; a different call with that key returns "
    "409 `CONFLICT`.",
    pattern="^[!-~]([ -~]{0,253}[!-~])?$",
    example="6f1c5d0e-6f0a-4f0e-9d8e-0f6e4f2b7a11",
)
PREFER_MINIMAL = _optional(
    "Prefer", "`return=minimal` (RFC 7240): the answer is the book in its list form, without chapters and covers."
)
IF_NONE_MATCH = _optional(
    "If-None-Match",
    "The ETag of the version that you have. Returns 304 without a body if the resource has not changed since.",
)
IF_MATCH = _optional(
    "If-Match",
    "The ETag of the version that you are changing. Returns 409 `CONFLICT` if the resource has changed since. A weak "
    "tag (`W/`) never matches.",
)
NOT_MODIFIED = "The resource still has the ETag that you sent. No body. Counts against the rate limit."


def reference(name: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"}}


_SOMETIMES = ("Retry-After", "WWW-Authenticate", "ETag", "Preference-Applied", "Idempotent-Replayed")
ALWAYS: dict[str, Any] = {name: reference(name)[name] for name in HEADERS if name not in _SOMETIMES}

_THE_BOOK = {"id": "$response.body#/id"}
_ITS_RUN = {"id": "$response.body#/book_id"}
_FIRST_CHAPTER = {"id": "$response.body#/chapters/0/id"}
_NEWEST_REVISION = {"id": "$request.path.id", "revision_id": "$response.body#/0/id"}
_WATCHED = dict.fromkeys(
    ("generation_status", "pause_generation", "resume_generation", "stop_generation", "export_pdf"), _ITS_RUN
)
# Links by operation: what to call next, with the ids from the answer.
LINKS: dict[str, dict[str, dict[str, str]]] = {
    "create_book": {"generate_outline": _THE_BOOK},
    "generate_outline": {"update_outline": _THE_BOOK, "generate": _THE_BOOK, "change_chapter": _FIRST_CHAPTER},
    "generate": _WATCHED,
    "produce": _WATCHED,
    "change_chapter": {"list_revisions": {"id": "$response.body#/id"}},
    "list_revisions": {"read_revision": _NEWEST_REVISION, "restore_revision": _NEWEST_REVISION},
}


def links(operation_id: str) -> dict[str, Any]:
    return {
        name: {"operationId": name, "parameters": parameters}
        for name, parameters in LINKS.get(operation_id, {}).items()
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
                    "enum": [entry.code for entry in catalogue()],
                    "x-enum-varnames": [entry.name for entry in catalogue()],
                    "description": "Stable; branch on it, never on the message.",
                },
                "message": {"type": "string", "description": "For people."},
                "status": {"type": "integer", "description": "The HTTP status."},
                "details": {"type": "object", "description": "Depends on the code."},
                "documentation_url": {"type": "string", "format": "uri"},
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}


def example(entry: ErrorCode) -> dict[str, Any]:
    body: dict[str, Any] = {"code": entry.code, "message": entry.condition, "status": entry.status}
    if entry.details:
        body["details"] = entry.details
    body["documentation_url"] = f"https://books.example.org/api/v1/docs/errors/#{entry.code}"
    return {"error": body}
