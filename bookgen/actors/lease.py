"""The lease: this process's right to write runs (a run is the writing of a book).

The process keeps the lease by renewing a row of the database. If the row cannot be renewed, a local timer stops the
process's work before other processes take it over.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from uuid import UUID, uuid4

import structlog

from bookgen.actors.actor import now, spawn
from bookgen.actors.resources import LeaseState, Resources
from bookgen.errors import Unavailable
from bookgen.store import notifications, processes

log = structlog.get_logger()

TTL_SECONDS = 30.0
RENEW_SECONDS = 10.0
RENEW_AGAIN_SECONDS = 2.0  # after an outage, so that one lost answer does not cost the lease
# How long after the start of the last successful renewal this process stops its work, by the monotonic clock.
FENCE_SECONDS = 20.0
# Within this time, every live process renews its lease.
SETTLE_SECONDS = RENEW_SECONDS + 2 * RENEW_AGAIN_SECONDS


class ProviderLimits:
    """Shares the provider's rate limits among processes.

    It tells the model how many processes there are, and tells other processes when the provider is busy.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        resources.model.tell_busy(self._tell)

    def count_others(self, others: int) -> None:
        """Set how many other processes are alive."""
        self._resources.other_processes = others
        self._resources.model.share(others + 1)

    def heard(self, name: str, seconds: float) -> None:
        """Handle a notification from another process: the provider of the model `name` is busy for `seconds`."""
        self._resources.model.hold_back(name, seconds)

    def _tell(self, name: str, seconds: float) -> None:
        if self._resources.other_processes:
            spawn(self._notify(name, seconds))

    async def _notify(self, name: str, seconds: float) -> None:
        try:
            await notifications.notify_busy(self._resources.pool, name, seconds)
        except Unavailable as error:  # the provider will tell the others as well
            self._resources.health.saw(error)


class Lease:
    """Registers this process and renews its lease. After the lease is lost, writes of this process are refused.

    `drop_work`: the function that drops the work in flight when the lease is lost, because other processes may take the
    work over.
    """

    def __init__(self, resources: Resources, limits: ProviderLimits, drop_work: Callable[[], None]) -> None:
        self._resources = resources
        self._limits = limits
        self._drop_work = drop_work
        self._fence: asyncio.TimerHandle | None = None
        self._former: UUID | None = None
        self._told_writer = ""
        self._settled_at = self._counts_from = -math.inf
        self._held_from = math.inf

    @property
    def trusts_expiry(self) -> bool:
        """Whether an expired lease means that the process with this lease is dead.

        False for a short time after the clock of the database server has jumped: then the leases of live processes
        seem expired, too.
        """
        return now() >= self._settled_at

    @property
    def may_prune(self) -> bool:
        """Whether rows of dead processes may be deleted.

        This is safe if the clock has not jumped for TTL_SECONDS, because all live processes have renewed their leases
        by then.
        """
        return now() >= self._held_from + TTL_SECONDS

    @property
    def ends_at(self) -> float:
        """The loop time at which this process stops using its lease, unless renewed; -inf before the first lease."""
        return self._counts_from + FENCE_SECONDS

    @property
    def seconds_left(self) -> float:
        """How many seconds the lease still lasts; -inf before the first lease."""
        return self.ends_at - now()

    async def take(self) -> None:
        """Get a lease for this process. The call can be repeated, even while an earlier attempt is still running."""
        started, boot_id = now(), self._resources.boot_id
        pool, pid = self._resources.lease_pool, os.getpid()
        writer, any_writer = self._resources.writer or "", self._resources.may_replace_writer
        told = (boot_id, this_host(), pid, started_at(pid), TTL_SECONDS)
        await processes.register(pool, *told, writer=writer, any_writer=any_writer, role=self._resources.role)
        self._told_writer = writer
        await notifications.notify_joined(pool)
        if former := self._former:  # before claiming: taking back one's own runs must not count as a death
            await processes.drain(pool, former)
            self._former = None
        if boot_id == self._resources.boot_id:
            self._set_fence(started)
            self._held_from = started
            if self._resources.lease_state is LeaseState.NONE:
                self._resources.lease_state = LeaseState.HELD

    async def tell_writer(self) -> bool:
        """Record the name of this process's model once the model server has reported it.

        Returns False if there was nothing new to record.
        """
        resources = self._resources
        await resources.find_writer()
        writer = resources.writer or ""
        if writer == self._told_writer:
            return False
        await processes.set_writer(resources.lease_pool, resources.boot_id, writer)
        self._told_writer = writer
        return True

    async def take_and_renew(self) -> None:
        """Get a lease and renew it at once, because `take` may have been slow.

        The renewal also counts the other processes.
        """
        await self.take()
        await self.renew()

    async def renew(self) -> None:
        """Renew the lease, and renew it once more if the response came late.

        A renewed lease lasts a fixed time from the request, so after a late response little of this time is left.
        """
        asked = now()
        await self._renew()
        if now() - asked > RENEW_AGAIN_SECONDS:
            await self._renew()

    async def _renew(self) -> None:
        """Renew the lease, or take a new one if the database no longer knows it."""
        started, boot_id = now(), self._resources.boot_id
        renewal = await processes.renew(self._resources.lease_pool, boot_id, TTL_SECONDS)
        if boot_id != self._resources.boot_id:  # too late: that lease has been lost
            return
        if renewal is None:
            if self._resources.lease_state is not LeaseState.NONE:
                self._lost()
            await self.take()
            return
        if renewal.overdue:
            self._held_from = started
            self._settled_at = started + SETTLE_SECONDS
        self._limits.count_others(renewal.others)
        self._set_fence(started)

    async def give_up(self) -> None:
        if self._fence:
            self._fence.cancel()
        await processes.expire(self._resources.lease_pool, self._resources.boot_id)

    async def expire_dead_processes(self) -> None:
        """End the leases of processes on this machine that no longer exist, instead of waiting for their expiry."""
        for process in await processes.on_host(self._resources.lease_pool, this_host(), self._resources.boot_id):
            if started_at(process.pid) != process.pid_started:
                await processes.expire(self._resources.lease_pool, process.boot_id)

    def _set_fence(self, started: float) -> None:
        """Set the time at which this process stops using its lease, unless that would make it earlier.

        `started`: when the lease was requested. The time is counted from there.
        """
        if started < self._counts_from:
            return
        self._counts_from = started
        if self._fence:
            self._fence.cancel()
        self._fence = asyncio.get_running_loop().call_at(self.ends_at, self._ran_out)
        if self._resources.lease_state is LeaseState.RUN_OUT:
            self._resources.lease_state = LeaseState.HELD

    def _ran_out(self) -> None:
        if self._resources.lease_state is LeaseState.NONE:
            return
        if self._resources.other_processes:
            self._lost()
        else:  # no other process can have taken the runs, so finished work waits in memory for the database
            self._resources.lease_state = LeaseState.RUN_OUT

    def _lost(self) -> None:
        """Drop all work in flight, because other processes may now write the runs of this process.

        The actors are kept: if one is handling a command, it completes the command under the next lease.
        """
        log.warning(
            "lease_lost",
            boot_id=str(self._resources.boot_id),
            what="This process did not renew its lease (its claim on the books that it writes) in time, so other "
            "processes may write these books now.",
            to_do="If this repeats, look for long statements and locks in the database.",
        )
        self._former, self._resources.boot_id = self._resources.boot_id, uuid4()
        self._resources.lease_state, self._held_from = LeaseState.NONE, math.inf
        self._drop_work()
        if not self._resources.draining:
            spawn(self._resources.health.through_outages(self.take_and_renew))


def this_host() -> str:
    """Return the scope in which process ids are unique: the machine, its boot and its PID namespace."""
    boot = _read("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()} {boot} {_namespace()}".strip()


@cache
def _namespace() -> str:
    """The PID namespace of this process."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def started_at(pid: int) -> str:
    """Return when a process started, as the system reports it; "alive" if that is unknown, "" if it does not run."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if fields:
        return "" if fields[0] in ("Z", "X") else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:  # the process exists and belongs to another user
        pass
    return "alive"


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
