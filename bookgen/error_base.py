"""The base class of all errors, and how the API shows an error. An error has a message and details.

The default message of an error is the docstring of its class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """How the API shows an error. Responses, the OpenAPI document and the error catalogue are made from these fields.

    `condition` says when the error occurs, and `remedy` what the client should do. `details` is an example of the
    error's details, empty if it has none. `constant` is the name of the code in generated clients. It is only set if
    another code differs from `code` in nothing but case.
    """

    status: int
    code: str
    condition: str
    remedy: str
    details: Mapping[str, Any] = field(default_factory=dict)
    constant: str | None = None

    @property
    def name(self) -> str:
        return self.constant or self.code


class BookgenError(Exception):
    """Something went wrong."""

    wire: ClassVar[ErrorCode] = ErrorCode(
        500,
        "SERVER_ERROR",
        "An unexpected error occurred.",
        "Retry at most three times, after 2 s, 4 s and 8 s plus jitter. Then report the `request_id`.",
        {"request_id": "3f1c0a9be2d44f60"},
    )

    def __init__(self, message: str | None = None, /, **details: object) -> None:
        super().__init__(message or type(self).__doc__)
        self.details = details
