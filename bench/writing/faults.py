"""Every documented fault of a provider on every profile, through the real SDKs."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.writing.row import Measure, Size
from bookgen.providers.text import StopReason
from tests.providers.documented import FAULTS, PROFILES, TRIES, outcome


async def rows(size: Size) -> AsyncIterator[Measure]:
    for profile in PROFILES:
        ended = [(documented, await outcome(profile, documented)) for documented in FAULTS]
        as_said = sum(one.as_said(documented) for documented, one in ended)
        most = max(one.calls for _, one in ended)
        prose = sum(bool(one.text) for documented, one in ended if documented.ends is StopReason.REFUSAL)
        waits = [one.waited >= documented.waits for documented, one in ended if documented.waits]
        yield Measure(
            f"{len(FAULTS)} faults of a provider",
            profile,
            f"{as_said} end as documented, {sum(waits)} of {len(waits)} Retry-After kept, {most} tries at most, "
            f"{prose} refusals told as prose",
            f"all, all, <= {TRIES}, 0",
            as_said == len(FAULTS) and all(waits) and most <= TRIES and prose == 0,
        )
