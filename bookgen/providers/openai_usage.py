"""Tokens as OpenAI counts them: what was read from a cache or written to it is within the prompt."""

from __future__ import annotations

from typing import Any

from bookgen.models import Usage
from bookgen.providers.attempt import counted


def usage_of(prompt: Any, output: Any, details: Any) -> Usage:
    read = counted(getattr(details, "cached_tokens", None))
    written = counted(getattr(details, "cache_write_tokens", None))
    return Usage(
        calls=1,
        input_tokens=max(counted(prompt) - read - written, 0),
        output_tokens=counted(output),
        cache_write_tokens=written,
        cache_read_tokens=read,
    )
