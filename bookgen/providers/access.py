"""The address of a provider and the key to use there."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    """The address and the key of a provider. An empty `url` means the provider's own address."""

    key: str = field(default="", repr=False)
    url: str = ""
