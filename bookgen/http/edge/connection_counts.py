"""The limit on open connections per address."""

from __future__ import annotations

from collections.abc import Iterable

from bookgen.rate_limits import Network, address_bucket, parse_address


class ConnectionCounts:
    """The number of open connections of each connected address.

    Connections from loopback are not counted. Nor are those of trusted proxies, since each proxy connects for many
    clients.
    """

    def __init__(self, trusted: Iterable[Network], most: int) -> None:
        self._trusted = tuple(trusted)
        self._most = most
        self._open: dict[str, int] = {}

    def enter(self, peer: str) -> str | None:
        """Count a connection. Returns the key to pass to `leave`; None if this peer's connections are not counted."""
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
        """Whether the address has more open connections than allowed. `name`: the key from `enter`."""
        return self._open[name] > self._most
