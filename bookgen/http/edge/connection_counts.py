"""The limit on open connections per address."""

from __future__ import annotations

from collections.abc import Iterable

from bookgen.rate_limits import Network, address_bucket, parse_address


class ConnectionCounts:
    """The number of open connections of each connected address.

    Loopback is not counted, nor are trusted proxies, which hold the connections of all their clients.
    """

    def __init__(self, trusted: Iterable[Network], most: int) -> None:
        self._trusted = tuple(trusted)
        self._most = most
        self._open: dict[str, int] = {}

    def enter(self, peer: str) -> str | None:
        """Count a connection. Returns the key for `leave`, or None for a peer that is not counted."""
        address = parse_address(peer)
        if address is None or address.is_loopback or any(address in network for network in self._trusted):
            return None
        name = address_bucket(peer)
        self._open[name] = self._open.get(name, 0) + 1
        return name

    def leave(self, name: str) -> None:
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]

    def is_full(self, name: str) -> bool:
        """Whether the address is over its limit."""
        return self._open[name] > self._most
