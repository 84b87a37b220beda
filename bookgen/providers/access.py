"""Where a provider is reached, and with which key."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    """Where a provider is reached and with which key. An empty `url` means the provider's own address."""

    key: str = field(default="", repr=False)
    url: str = ""
