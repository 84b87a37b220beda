"""The headers of a deprecated API version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

NOTICE = timedelta(days=182)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """When a version was deprecated, when it ends, and the URL that explains it."""

    since: datetime
    sunset: datetime
    documentation_url: str

    def __post_init__(self) -> None:
        if self.sunset - self.since < NOTICE:
            raise ValueError("a version is removed at least six months after it was deprecated")

    def headers(self) -> Mapping[str, str]:
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset.astimezone(UTC), usegmt=True),
            "Link": f'<{self.documentation_url}>; rel="deprecation"; type="text/html"',
        }
