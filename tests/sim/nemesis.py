"""The faults of a schedule: a plan, drawn from the seed, of faults in processes, in the network and in the server.

Each seed first draws which kinds of faults it has at all, so that one kind does not always hide another.
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
LASTING = ("freeze", "partition", "restart", "failover", "lock", "disk")  # the other kinds are instantaneous
POINTS = (
    "begin.after", "call.before", "step.before", "step.after", "checkpoint.before", "checkpoint.after",
    "generate.before", "generate.after", "pause.before", "pause.after", "resume.before", "resume.after",
    "stop.before", "stop.after", "advance.before", "advance.after",
)  # fmt: skip
# More frequent than the others: most can go wrong when a process freezes or dies with a reply in hand.
COMMITS = ("step.before", "checkpoint.before", "checkpoint.after")
# Statements that a fault can target, by their first words.
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
# Statements by which a process that unknowingly lost a run could do harm if nothing stopped it.
FENCED = ("begin", "begin", "checkpoint", "step", "commit", "end of job")
# More frequent: a process that has begun something without knowing believes that it has not.
UNHEARD = ("begin", "begin")
CUT_BEFORE, CUT_AFTER = "cut before", "cut after"
LATE = "late"  # the network is cut while the statement is in transit; it arrives once the network is restored
SQLSTATES = (
    "08006", "25006", "40001", "40P01", "53100", "53200", "53300", "55P03", "57014", "57P01", "58030", "XX000",
)  # fmt: skip
# A lease renewed ten seconds ago outlasts this.
SHORT_SECONDS = 6.0
SETTLED_SECONDS = 4.0
LEASE_SECONDS = 30.0
DRAINS = "SELECT 1 FROM process WHERE pid = $1 AND draining"
RUNNING = "SELECT book_id FROM run JOIN process ON boot_id = owner WHERE pid = $1 AND status = 'running'"
NEWER_COLUMN = "ALTER TABLE run ADD COLUMN IF NOT EXISTS of_a_newer_version integer"
WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """`who`: the live process or the account that it strikes. `seconds`: its duration. `detail`: where and how."""

    at: float
    kind: str
    who: int
    seconds: float
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.at:.1f} s {self.kind} {self.detail} of {self.who} for {self.seconds:.1f} s".replace("  ", " ")


def plan(chance: random.Random, seconds: float, lasting: Sequence[float]) -> list[PlannedFault]:
    """The faults of a schedule in order of time. `lasting`: the duration of one."""
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
    """Carries out the plan, and decides what happens to statements on their way to the database.

    `hits`: for each book, the faults that may cost it a model call. `claimed_around`: faults that may cost every book
    one: if the server's clock jumps by more than a lease, all processes consider all others dead, and a process that
    lost its runs notices a second later. `doubtful`: the pids of processes that met something a book may have done; a
    book is charged only for its own. `happened`: counts of events.
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
        self._away: dict[Owner, tuple[float, float]] = {}  # start and end
        self._armed: list[PlannedFault] = []
        self._calm = False
        self._last_at = -math.inf

    @property
    def quiet(self) -> bool:
        """Whether nothing has gone wrong yet."""
        return self._last_at == -math.inf

    @property
    def settled(self) -> bool:
        """Whether all faults have been over long enough for every process to know the state of the database."""
        return self.over_for(SETTLED_SECONDS)

    def over_for(self, seconds: float) -> bool:
        """Whether all faults have been over for this long."""
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
        """Whether the owner has had no connection to the database for this long."""
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
        """Called at every fault point of the product."""
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
        """Stop new faults. Faults in progress run out."""
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
                self._lasts(PROBE_SECONDS + ANSWER_SECONDS)  # until then it learns late of a new process
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
        """The others consider it dead when its lease expires, and no sooner does it report that it is alive."""
        self._hit(process, seconds)
        self.doubtful.add(process.pid)
        if seconds > LEASE_SECONDS - RENEW_SECONDS:
            self.killed.update(process.books)

    def _part(self, process: SimulatedProcess, seconds: float) -> None:
        """Cut it off from the database. Statements in transit arrive at the end of the partition."""
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
        """An outside session (an operator, a dump, a report) locks a row."""
        account = self._accounts[fault.who % len(self._accounts)]
        rows = {  # sorted, so that the locks taken before it waits do not depend on the heap
            "account_slot": f"account_id = {account}",
            "run": f"account_id = {account} ORDER BY id",
            "process": "true ORDER BY boot_id",
        }
        self._note(f"lock {fault.detail}", None, account)
        if fault.detail == "process":  # nobody renews a lease meanwhile
            self.doubtful.update(process.pid for process in self._processes())
            self.claimed_around += fault.seconds > SHORT_SECONDS
        session = self._outsider()
        await self._ask(session, "BEGIN")
        await self._ask(session, f"SELECT 1 FROM {fault.detail} WHERE {rows[fault.detail]} FOR UPDATE")
        await asyncio.sleep(min(fault.seconds, 25.0))
        self._network.postgres.end(session)

    async def _migrate(self) -> None:
        """A newer version adds a column while the processes run."""
        self._note("migrate", None)
        session = self._outsider()
        await self._ask(
            session, NEWER_COLUMN, patience=0.0
        )  # whoever waits behind it would make everyone wait, including us
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
        """Record a fault. A process cut off for less than `SHORT_SECONDS` keeps its lease and its calls. A longer fault
        may cost the call that a run makes at its end, also of a run just starting.
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
