"""Token counts of OpenAI, whose count of prompt tokens includes cached tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bookgen.models import Usage
from bookgen.providers.attempt import counted


def usage_of(prompt: Any, output: Any, details: Mapping[str, Any] | None) -> Usage:
    details = details or {}
    read, written = counted(details.get("cached_tokens")), counted(details.get("cache_write_tokens"))
    return Usage(
        calls=1,
        input_tokens=max(counted(prompt) - read - written, 0),
        output_tokens=counted(output),
        cache_write_tokens=written,
        cache_read_tokens=read,
    )
