"""What goes wrong in a schedule: a plan, drawn from the seed, of faults that strike processes, the way or the server.

Each seed draws which kinds of faults it has at all, so that one kind does not always hide behind another.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bookgen.actors.lease import RENEW_SECONDS
from bookgen.store.notifications import ANSWER_SECONDS, PROBE_SECONDS
from tests.sim import wire
from tests.sim.loop import Owner, SimulatedLoop
from tests.sim.network import Mishap, Network
from tests.sim.postgres import Session
from tests.sim.process import SimulatedProcess

KINDS = (
    "kill", "freeze", "partition", "drain", "restart", "failover", "strike", "point", "lock", "clock", "disk",
    "migrate", "deaf",
)  # fmt: skip
LASTING = ("freeze", "partition", "restart", "failover", "lock", "disk")  # the others are over at once
POINTS = (
    "begin.after", "call.before", "step.before", "step.after", "checkpoint.before", "checkpoint.after",
    "generate.before", "generate.after", "pause.before", "pause.after", "resume.before", "resume.after",
    "stop.before", "stop.after", "advance.before", "advance.after",
)  # fmt: skip
# Struck more often than the others: whoever sleeps or dies with a reply in hand is where most can go wrong.
COMMITS = ("step.before", "checkpoint.before", "checkpoint.after")
# Statements that a fault may be aimed at, by how they begin.
AIMS = {
    "any": "",
    "commit": "COMMIT",
    "begin": "UPDATE run SET call_no",
    "checkpoint": "UPDATE run SET total = $2, done",
    "step": "WITH of_run AS",
    "claim": "WITH orphan AS",
    "renew": "UPDATE process SET lease_until",
    "register": "INSERT INTO process",
    "save": "UPDATE run SET status",
    "insert": "INSERT INTO run",
    "lock": "UPDATE account_slot",
    "charge": "INSERT INTO model_call",
    "job": "INSERT INTO book_job",
    "end of job": "WITH forgotten AS",
    "release": "WITH taken AS",
    "chapter": "UPDATE chapter",
}
# Those by which a process that has lost a run without knowing would do harm, if nothing kept them out.
FENCED = ("begin", "begin", "checkpoint", "step", "commit", "end of job")
# Struck more often than the others: a process that has begun and has not heard of it takes itself for one that has not.
UNHEARD = ("begin", "begin")
CUT_BEFORE, CUT_AFTER = "cut before", "cut after"
LATE = "late"  # the way is cut while the statement is on it: it arrives once the way is whole again
SQLSTATES = (
    "08006", "25006", "40001", "40P01", "53100", "53200", "53300", "55P03", "57014", "57P01", "58030", "XX000",
)  # fmt: skip
# A lease that was renewed ten seconds ago outlives this.
SHORT_SECONDS = 6.0
SETTLED_SECONDS = 4.0
LEASE_SECONDS = 30.0
DRAINS = "SELECT 1 FROM process WHERE pid = $1 AND draining"
RUNNING = "SELECT book_id FROM run JOIN process ON boot_id = owner WHERE pid = $1 AND status = 'running'"
NEWER_COLUMN = "ALTER TABLE run ADD COLUMN IF NOT EXISTS of_a_newer_version integer"
WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """`who`: which of the living it strikes, or which account. `seconds`: for how long. `detail`: where, and how."""

    at: float
    kind: str
    who: int
    seconds: float
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.at:.1f} s {self.kind} {self.detail} of {self.who} for {self.seconds:.1f} s".replace("  ", " ")


def plan(chance: random.Random, seconds: float, lasting: Sequence[float]) -> list[PlannedFault]:
    """The faults of a schedule, in time. `lasting`: how long one lasts."""
    kinds = [kind for kind in KINDS if chance.random() < 0.35] or [chance.choice(KINDS)]
    drawn = [
        _draw(chance, chance.choice(kinds), seconds, lasting) for _ in range(chance.randint(1, 1 + round(seconds / 10)))
    ]
    return sorted(drawn, key=lambda fault: fault.at)


def _draw(chance: random.Random, kind: str, seconds: float, lasting: Sequence[float]) -> PlannedFault:
    length, detail = chance.choice(lasting) * chance.uniform(0.7, 1.3), ""
    match kind:
        case "strike":
            states = chance.choice(SQLSTATES), chance.choice(SQLSTATES)
            how = chance.choice((CUT_AFTER, CUT_AFTER, CUT_BEFORE, LATE, *states))
            detail = f"{chance.choice(FENCED if how == LATE else (*AIMS, *UNHEARD))}: {how}"
            length = LEASE_SECONDS * chance.uniform(0.8, 1.5)
        case "point":
            detail = f"{chance.choice((*POINTS, *COMMITS * 3))}: {chance.choice(('kill', 'freeze'))}"
            length = chance.choice((length, LEASE_SECONDS * 1.5))
        case "clock":
            detail = chance.choice(("-20", "40", "3600"))
        case "lock":
            detail = chance.choice(("account_slot", "account_slot", "run", "process"))
        case "drain":
            detail = chance.choice(("whole", "killed"))
    return PlannedFault(chance.uniform(1.0, seconds), kind, chance.randrange(12), length, detail)


@lru_cache(10_000)
def _plain(sql: str) -> str:
    return " ".join(sql[:400].split())


class Nemesis:
    """Carries the plan out, and is the weather on the way to the database meanwhile.

    `hits` counts by book what may cost it a model call, `claimed_around` what may cost each book one: when the server's
    clock jumps by more than a lease, all processes take all others for dead, and whoever was robbed looks a second
    later. `doubtful` are the processes that met what a book may have done to them, by their pids: no book pays for the
    others. `happened` counts what came to pass.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        faults: list[PlannedFault],
        processes: Callable[[], list[SimulatedProcess]],
        boot: Callable[[float], None],
        ended: Callable[[SimulatedProcess], None],
        accounts: list[int],
        chance: random.Random,
        trace: Callable[..., None],
    ) -> None:
        self.network: Network | None = None
        self.down_until = self.read_only_until = self.full_until = 0.0
        self.clock = 0.0
        self.hits: Counter[int] = Counter()
        self.doubtful: set[int] = set()
        self.claimed_around = 0
        self.happened: Counter[str] = Counter()
        self.killed: Counter[int] = Counter()
        self.over_at = 0.0
        self._loop = loop
        self._faults = faults
        self._processes = processes
        self._boot = boot
        self._ended = ended
        self._accounts = accounts
        self._chance = chance
        self._trace = trace
        self._away: dict[Owner, tuple[float, float]] = {}  # since when and until when
        self._armed: list[PlannedFault] = []
        self._calm = False
        self._last_at = -math.inf

    @property
    def quiet(self) -> bool:
        """Whether nothing has gone wrong yet."""
        return self._last_at == -math.inf

    @property
    def settled(self) -> bool:
        """Whether all that went wrong is over for so long that every process knows again what the database says."""
        return self.over_for(SETTLED_SECONDS)

    def over_for(self, seconds: float) -> bool:
        """Whether all that went wrong is over for so long."""
        return self._loop.time() > max(self._last_at, self.over_at) + seconds and not self.clock

    # The weather

    @property
    def down(self) -> bool:
        return self.down_until > self._loop.time()

    @property
    def read_only(self) -> bool:
        return self.read_only_until > self._loop.time()

    def away_until(self, owner: Owner) -> float:
        return self._away.get(owner, (0.0, 0.0))[1]

    def away_for(self, owner: Owner, seconds: float) -> bool:
        """Whether the owner has had no way to the database for so long."""
        since, until = self._away.get(owner, (0.0, 0.0))
        return since + seconds < self._loop.time() < until

    def strikes(self, owner: Owner, sql: str) -> Mishap | None:
        if self._calm or not isinstance(owner, SimulatedProcess) or not owner.supervisor:
            return None
        plain = _plain(sql)
        if self.full_until > self._loop.time() and WRITES.search(plain):
            return Mishap("53100")
        for fault in self._armed:
            aim, _, how = fault.detail.partition(": ")
            if fault.kind == "strike" and plain.startswith(AIMS[aim]):
                self._armed.remove(fault)
                self._note(f"strike {aim}", owner, plain[:40], how)
                self.doubtful.add(owner.pid)
                self.happened[f"strike {how}"] += 1
                if how == LATE:
                    self._part(owner, fault.seconds)
                    return Mishap(late=True)
                if how in (CUT_AFTER, CUT_BEFORE):
                    return Mishap(cut=True, before=how == CUT_BEFORE)
                return Mishap(how)
        return None

    async def point(self, name: str, key: object = None) -> None:
        """Stands in every fault point of the product."""
        owner = self._loop.current
        self.happened[f"point {name}"] += 1
        if self._calm or not isinstance(owner, SimulatedProcess):
            return
        for fault in self._armed:
            point, _, how = fault.detail.partition(": ")
            if fault.kind == "point" and point == name:
                self._armed.remove(fault)
                self._note(f"{how} at {name}", owner)
                if how == "kill":
                    self.kill(owner)
                    await asyncio.Event().wait()
                self._freeze(owner, fault.seconds)
                await asyncio.sleep(0)
                return

    # The plan

    async def run(self) -> None:
        for fault in self._faults:
            await asyncio.sleep(fault.at - self._loop.time())
            if fault.kind in ("strike", "point"):
                self._armed.append(fault)
                continue
            if fault.kind in LASTING:
                self._lasts(fault.seconds)
            self._strike(fault)

    def calm(self) -> None:
        """No further fault; what lasts yet passes."""
        self._calm = True

    def _strike(self, fault: PlannedFault) -> None:
        living = [process for process in self._processes() if not process.dead]
        process = living[fault.who % len(living)] if living else None
        match fault.kind, process:
            case "restart", _:
                self._outage(fault)
            case "failover", _:
                self._fail_over(fault)
            case "lock", _:
                self._loop.create_task(self._lock(fault))
            case "clock", _:
                self._note("clock", None, fault.detail)
                self.clock += float(fault.detail)
                if float(fault.detail) > LEASE_SECONDS:
                    self.claimed_around += 2 * len(living)
                self.doubtful.update(each.pid for each in living)
            case "disk", _:
                self._note("disk", None, fault.seconds)
                self.full_until = max(self.full_until, self._loop.time() + fault.seconds)
                self._hit_all(fault.seconds)
            case "migrate", _:
                self._loop.create_task(self._migrate())
            case "kill", SimulatedProcess():
                self._note("kill", process)
                self.kill(process)
            case "freeze", SimulatedProcess():
                self._note("freeze", process)
                self._freeze(process, fault.seconds)
            case "partition", SimulatedProcess():
                self._note("partition", process, fault.seconds)
                self._part(process, fault.seconds)
            case "drain", SimulatedProcess():
                self._drain(process, fault)
            case "deaf", SimulatedProcess():
                self._note("deaf", process)
                self._lasts(PROBE_SECONDS + ANSWER_SECONDS)  # until then it hears late of a process that comes
                self._network.deafen(process)

    def kill(self, process: SimulatedProcess, *, charged: bool = True) -> None:
        if process.dead:
            return
        if charged:
            self._hit(process)
            self.killed.update(process.books)
        if charged or not self._network.postgres.rows(DRAINS, process.pid):
            self.doubtful.add(process.pid)
        process.kill()
        self._network.cut(process)
        self._ended(process)
        self._boot(self._chance.choice((0.5, 3.0, 20.0)))

    def _freeze(self, process: SimulatedProcess, seconds: float) -> None:
        if process.frozen:
            return
        self._silence(process, seconds)
        process.freeze()
        with self._loop.acting_as(self._loop.world):
            self._loop.call_later(seconds, process.thaw)
        self._lasts(seconds)

    def _silence(self, process: SimulatedProcess, seconds: float) -> None:
        """Others take it for dead whose lease runs out meanwhile, and no sooner does it say that it lives."""
        self._hit(process, seconds)
        self.doubtful.add(process.pid)
        if seconds > LEASE_SECONDS - RENEW_SECONDS:
            self.killed.update(process.books)

    def _part(self, process: SimulatedProcess, seconds: float) -> None:
        """From the database, and what is on its way there from its end."""
        self._silence(process, seconds)
        now, (since, until) = self._loop.time(), self._away.get(process, (0.0, 0.0))
        self._away[process] = since if until > now else now, max(until, now + seconds)
        self._lasts(seconds)

    def _drain(self, process: SimulatedProcess, fault: PlannedFault) -> None:
        if process.draining or process.frozen:
            return
        killed = fault.detail == "killed"
        self._note(f"drain {fault.detail}", process)
        self._hit(process)

        async def drain() -> None:
            await process.drain(25.0)
            with self._loop.acting_as(self._loop.world):
                self._loop.call_soon(lambda: self.kill(process, charged=False))

        with self._loop.acting_as(process):
            self._loop.create_task(drain())
        if killed:
            self._loop.call_later(fault.seconds / 10, lambda: self.kill(process, charged=False))

    def _outage(self, fault: PlannedFault) -> None:
        assert self.network is not None
        self._note("restart", None, fault.seconds)
        self.down_until = max(self.down_until, self._loop.time() + fault.seconds)
        self.network.cut_all()
        self._hit_all(fault.seconds)

    def _fail_over(self, fault: PlannedFault) -> None:
        assert self.network is not None
        self._note("failover", None, fault.seconds)
        self.read_only_until = max(self.read_only_until, self._loop.time() + fault.seconds)
        self.network.cut_all()
        self._hit_all(fault.seconds)

    async def _lock(self, fault: PlannedFault) -> None:
        """Somebody from outside holds a row locked: an operator, a dump, a report."""
        account = self._accounts[fault.who % len(self._accounts)]
        rows = {  # in an order: which of them it gets before it waits is not for the heap to say
            "account_slot": f"account_id = {account}",
            "run": f"account_id = {account} ORDER BY id",
            "process": "true ORDER BY boot_id",
        }
        self._note(f"lock {fault.detail}", None, account)
        if fault.detail == "process":  # none renews its lease meanwhile
            self.doubtful.update(process.pid for process in self._processes())
            self.claimed_around += fault.seconds > SHORT_SECONDS
        session = self._outsider()
        await self._ask(session, "BEGIN")
        await self._ask(session, f"SELECT 1 FROM {fault.detail} WHERE {rows[fault.detail]} FOR UPDATE")
        await asyncio.sleep(min(fault.seconds, 25.0))
        self._network.postgres.end(session)

    async def _migrate(self) -> None:
        """A newer version adds a column under the processes that run."""
        self._note("migrate", None)
        session = self._outsider()
        await self._ask(session, NEWER_COLUMN, patience=0.0)  # who waits for it would have everybody wait, us too
        self._network.postgres.end(session)
        self._network.postgres.forget_statements()

    @property
    def _network(self) -> Network:
        assert self.network is not None
        return self.network

    def _outsider(self) -> Session:
        return self._network.postgres.open(self._network.postgres.monitor.start)

    async def _ask(self, session: Session, sql: str, patience: float = 2.0) -> None:
        answered = self._loop.create_future()
        network = self._network
        waiting = network.postgres.perform(
            session,
            sql,
            [wire.query(sql)],
            network.disposition(),
            lambda answer: answered.done() or answered.set_result(answer),
        )
        if waiting:
            if patience:
                await asyncio.wait((answered,), timeout=patience)
            if waiting in network.postgres.waiting:
                network.postgres.give_up(waiting, "55P03", "canceling statement due to lock timeout")
        self._trace("outsider", sql[:60], wire.sqlstate(await answered) or "ok")

    def _lasts(self, seconds: float) -> None:
        self.over_at = max(self.over_at, self._loop.time() + seconds)

    # What it costs

    def _hit(self, process: SimulatedProcess, seconds: float = math.inf) -> None:
        """What keeps a process from the database for less than `SHORT_SECONDS` costs it no lease, and so no call.

        What lasts longer may cost the call that one of its runs makes at the end of it, too, also one that is just
        being started.
        """
        if seconds > SHORT_SECONDS:
            running = self._network.postgres.rows(RUNNING, process.pid) if seconds < math.inf else ()
            self.hits.update(process.books | process.handling | {int(row[0] or 0) for row in running})

    def _hit_all(self, seconds: float = math.inf) -> None:
        for process in self._processes():
            if not process.dead:
                self._hit(process, seconds)
                self.doubtful.add(process.pid)

    def _note(self, what: str, owner: Owner | None, *more: object) -> None:
        self._last_at = self._loop.time()
        self.happened[what] += 1
        self._trace("FAULT", what, owner.name if owner else "", *more)
