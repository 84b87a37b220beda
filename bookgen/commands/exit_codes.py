"""Which exit code a command ends with when something went wrong, as docs/operate.md lists them."""

from __future__ import annotations

from bookgen.client import errors as client
from bookgen.errors import InvalidInput, NotFound, PaymentsNotConfigured, StartupError

FAILED, WRONG = 1, 2
OF_INPUT = (
    StartupError, InvalidInput, NotFound, PaymentsNotConfigured,
    client.InvalidRequest, client.NotFound, client.Unauthenticated,
)  # fmt: skip


def exit_code(error: Exception) -> int:
    """WRONG where the input or the settings have to be others."""
    return WRONG if isinstance(error, OF_INPUT) else FAILED
