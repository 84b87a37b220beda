"""Numbers in the headers of a response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def number(text: str) -> float | None:
    """Convert a header's text to a number; a negative number becomes 0. None if the text is not a finite number."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from `retry-after-ms` or from `Retry-After` (seconds or a date).

    None if the response has neither header.
    """
    exact, usual = number(headers.get("retry-after-ms", "")), headers.get("retry-after", "")
    if exact is not None:
        return exact / 1000
    seconds = number(usual)
    return _seconds_until(usual) if seconds is None else seconds


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
