"""The exit codes of commands, as docs/operate.md lists them."""

from __future__ import annotations

from bookgen.client import errors as client
from bookgen.errors import InvalidInput, NotFound, PaymentsNotConfigured, StartupError

FAILED, WRONG = 1, 2
INCOMPLETE = 3  # a backup or a move was made, but without pictures that are missing or damaged
OF_INPUT = (
    StartupError, InvalidInput, NotFound, PaymentsNotConfigured,
    client.InvalidRequest, client.NotFound, client.Unauthenticated,
)  # fmt: skip


def exit_code(error: Exception) -> int:
    """The exit code for an error: WRONG if the input or the settings must change, otherwise FAILED."""
    return WRONG if isinstance(error, OF_INPUT) else FAILED
