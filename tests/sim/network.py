"""The network between the simulated processes and the database: latency, partitions and lost responses.

The clients are real, byte for byte. Timeouts that PostgreSQL would measure by its own clock (`lock_timeout`, deadlock
detection, idle transactions) are applied here by the virtual clock.
"""

from __future__ import annotations

import asyncio
import math
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from tests.sim import wire
from tests.sim.loop import Owner, SimulatedLoop
from tests.sim.postgres import EPOCH, Disposition, Postgres, Session, Waiting

LATENCY_SECONDS = 0.003  # average latency in each direction
LOCK_SECONDS, DEADLOCK_SECONDS, OPEN_TRANSACTION_SECONDS = 10.0, 1.0, 60.0
LAST_WORDS = ("57P", "08")  # error classes after which a server sends nothing more


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong with one statement: an error instead of its result, or a lost connection.

    `before`: the connection ends before the statement arrives, otherwise after it ran. `late`: the process is cut off
    from now on, with the statement in transit.
    """

    sqlstate: str = ""
    cut: bool = False
    before: bool = False
    late: bool = False


class Weather(Protocol):
    """What goes wrong on the way. `away_until`: when a process can reach the database again."""

    clock: float

    @property
    def down(self) -> bool: ...
    @property
    def read_only(self) -> bool: ...
    def away_until(self, owner: Owner) -> float: ...
    def strikes(self, owner: Owner, sql: str) -> Mishap | None: ...


class Network:
    """The connections of all processes to the server."""

    def __init__(
        self,
        loop: SimulatedLoop,
        postgres: Postgres,
        weather: Weather,
        chance: random.Random,
        trace: Callable[..., None],
    ) -> None:
        self.loop = loop
        self.postgres = postgres
        self.weather = weather
        self.trace = trace
        self.links: list[ServerLink] = []
        self._random = chance.random
        loop.connect = self._connect

    def latency(self) -> float:
        return -math.log(1.0 - self._random()) * LATENCY_SECONDS

    def disposition(self, asker: Owner | None = None) -> Disposition:
        now = EPOCH + self.loop.time() + self.weather.clock
        return Disposition(now, self.weather.read_only, getattr(asker, "pid", 0))

    async def _connect(self, owner: Owner, factory: Callable[[], Any]) -> tuple[ServerLink, Any]:
        await asyncio.sleep(self.latency())
        while (heals := self.weather.away_until(owner)) > self.loop.time():  # noqa: ASYNC110 (it may last longer)
            await asyncio.sleep(heals - self.loop.time())
        if self.weather.down:
            raise ConnectionRefusedError("the database is down")
        protocol = factory()
        link = ServerLink(self, owner, protocol)
        self.links.append(link)
        protocol.connection_made(link)
        return link, protocol

    def cut(self, owner: Owner) -> None:
        """The server notices the end of a process. What was sent before still counts."""
        for link in [each for each in self.links if each.owner is owner]:
            link.leave()

    def deafen(self, owner: Owner) -> None:
        """A middlebox forgets the listening connection, as firewalls do with idle ones. Neither end notices."""
        for link in [each for each in self.links if each.owner is owner and each.listens]:
            link.drop(heard=True)

    def cut_all(self) -> None:
        """The server ends and rolls back every open transaction."""
        for link in list(self.links):
            link.drop()


class ServerLink(asyncio.Transport):
    """A connection as its client sees it (asyncio.Transport), with its session at the server."""

    def __init__(self, network: Network, owner: Owner, protocol: Any) -> None:
        super().__init__()
        self.owner = owner
        self._network = network
        self._loop = network.loop
        self._protocol = protocol
        self.listens = False
        self._client = wire.ClientStream()
        self._session: Session | None = None
        self._closed = False  # by the client
        self._over = False  # at the server
        self._arrives_at = self._answers_at = 0.0
        self._exchanges = 0

    # What asyncpg asks of a transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closed:
            return
        for sql, request in self._client.says(bytes(data)):
            self._send(self._arrive, sql, request)

    def writelines(self, buffers: Any) -> None:
        self.write(b"".join(bytes(each) for each in buffers))

    def is_closing(self) -> bool:
        return self._closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def pause_reading(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.call_soon(self._protocol.connection_lost, None)
            self.leave()

    # What happens to it

    def leave(self) -> None:
        """The client disconnects. The server notices after everything that was sent."""
        self._send(self.drop, True)

    def drop(self, heard: bool = False) -> None:
        """The server ends the session. The client is told, unless it caused the end."""
        if self._over:
            return
        self._over = True
        self._network.links.remove(self)
        if self._session:
            session, self._session = self._session, None
            self._network.postgres.end(session)
        if not heard:
            self._answer(None)

    def _send(self, arrive: Callable[..., None], *what: Any) -> None:
        self._arrives_at = max(self._arrives_at, self._loop.time() + self._network.latency())
        self._loop.call_for(self._loop.world, self._arrives_at, self._cross, arrive, *what)

    def _cross(self, arrive: Callable[..., None], *what: Any) -> None:
        if (heals := self._network.weather.away_until(self.owner)) > self._loop.time():
            self._arrives_at = max(self._arrives_at, heals)
            self._loop.call_at(self._arrives_at, self._cross, arrive, *what)
        else:
            arrive(*what)

    # At the server

    def _arrive(self, sql: str, request: list[bytes]) -> None:
        if self._over:
            return
        if sql == wire.START:
            self._start(request[0])
        elif sql == wire.END:
            self.drop(heard=True)
        elif self._session:
            self._perform(self._session, sql, request)

    def _start(self, packet: bytes) -> None:
        postgres = self._network.postgres
        if int.from_bytes(packet[4:8], "big") == wire.CANCEL:
            pid, secret = struct.unpack("!ii", packet[8:16])
            for waiting in [each for each in postgres.waiting if each.session.pid == pid]:
                if waiting.session.secret == secret:
                    postgres.give_up(waiting, "57014", "canceling statement due to user request")
            self.drop()
            return
        self._session = postgres.open(packet)
        self._statements = postgres.statements_of(self._session)
        self._answer(self._session.greeting)

    def _perform(self, session: Session, sql: str, request: list[bytes]) -> None:
        mishap = self._network.weather.strikes(self.owner, sql)
        if mishap and mishap.cut and mishap.before:
            self._trace(sql, "cut before")
            self.drop()
            return
        if mishap and mishap.late:
            self._trace(sql, "late")
            self._cross(self._arrive, sql, request)
            return
        prepares = request[0][:1] == b"P"
        if prepares and not mishap and not session.failing and (known := self._statements.answer(request)):
            self._answer(known)
            return
        self._exchanges += not prepares
        synced = request[-1] != wire.FLUSH
        if mishap and mishap.sqlstate:
            request = self._failing(session, sql, mishap.sqlstate)
        else:
            request = self._statements.translate(request)

        def answered(answer: bytes) -> None:
            self._statements.learn(answer)
            failed = wire.sqlstate(answer)
            if not prepares or failed:  # whether a statement was already prepared must make no difference
                self._trace(sql, failed or "ok")
            if sql.startswith("LISTEN"):
                self.listens = True
                self._network.postgres.listen(session, self._answer)
            if mishap and mishap.cut:
                self._trace(sql, "answer lost")
                self.drop()
                return
            if mishap:  # of a transaction that is rolled back instead of committed nothing is notified
                kept = b"EZ" if synced else b"E"
                answer = b"".join(frame for frame in wire.frames(answer)[0] if frame[:1] in kept)
            self._answer(answer)
            if mishap and mishap.sqlstate.startswith(LAST_WORDS):
                self.drop()
                return
            if session.status != wire.IDLE and not prepares:
                self._later(OPEN_TRANSACTION_SECONDS, self._end_open_transaction, self._exchanges)

        waiting = self._network.postgres.perform(session, sql, request, self._network.disposition(self.owner), answered)
        if waiting:
            self._trace(sql, "waits")
            self._later(DEADLOCK_SECONDS, self._end_deadlock, waiting)
            self._later(LOCK_SECONDS, self._give_up, waiting, "55P03", "canceling statement due to lock timeout")

    def _failing(self, session: Session, sql: str, sqlstate: str) -> list[bytes]:
        """A request that ends with the server's own error."""
        rollback = "ROLLBACK; " if sql.startswith("COMMIT") else ""
        return [wire.query(f"{rollback}DO $$ BEGIN RAISE EXCEPTION 'simulated' USING ERRCODE = '{sqlstate}'; END $$")]

    def _later(self, seconds: float, work: Callable[..., None], *what: Any) -> None:
        self._loop.call_for(self._loop.world, self._loop.time() + seconds, work, *what)

    def _end_open_transaction(self, exchanges: int) -> None:
        if self._session and self._exchanges == exchanges and self._session.status != wire.IDLE:
            self._trace("", "open transaction ended")
            self.drop()

    def _end_deadlock(self, waiting: Waiting) -> None:
        if waiting in self._network.postgres.waiting and self._network.postgres.waits_for_itself(waiting.session):
            self._give_up(waiting, "40P01", "deadlock detected")

    def _give_up(self, waiting: Waiting, sqlstate: str, text: str) -> None:
        if waiting in self._network.postgres.waiting:
            self._network.postgres.give_up(waiting, sqlstate, text)

    # Back at the client

    def _answer(self, answer: bytes | None) -> None:
        """Deliver the response. None means that the connection is lost."""
        self._answers_at = max(self._answers_at, self._loop.time() + self._network.latency())
        if self.owner.dead:
            return
        self._loop.call_for(self.owner, self._answers_at, self._hear, answer)

    def _hear(self, answer: bytes | None) -> None:
        if self._closed:
            return
        if (heals := self._network.weather.away_until(self.owner)) > self._loop.time():
            self._answers_at = max(self._answers_at, heals)
            self._loop.call_at(self._answers_at, self._hear, answer)
        elif answer is None:
            self._closed = True
            self._protocol.connection_lost(ConnectionResetError("the server has ended the connection"))
        else:
            self._protocol.data_received(answer)

    def _trace(self, sql: str, outcome: str) -> None:
        self._network.trace(self.owner.name, _short(sql), outcome)


@lru_cache(10_000)
def _short(sql: str) -> str:
    return " ".join(sql.split())[:60]
