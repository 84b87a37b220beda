"""A few schedules of the simulation. `make simulate` runs as many as requested."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from bookgen import store
from tests.sim.loop import Owner, SimulatedLoop, Standstill
from tests.sim.nemesis import AIMS, KINDS, plan
from tests.sim.planted import PLANTED, PlantedBug

ROOT = Path(__file__).parent.parent.parent


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run in a separate process, because a simulation replaces the clock, random numbers and logs."""
    command = [sys.executable, "-m", "tests.sim", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.timeout(300)
def test_a_seed_gives_the_same_run_twice_and_breaks_no_invariant() -> None:
    simulated = simulate("--seed", "8", "--twice")

    assert simulated.returncode == 0, simulated.stdout + simulated.stderr
    assert "1 schedules" in simulated.stdout


def test_fault_plans_use_every_kind_and_repeat_with_their_seed() -> None:
    drawn = [plan(random.Random(f"{seed} faults"), 100.0, (1.0, 30.0)) for seed in range(200)]

    assert {fault.kind for faults in drawn for fault in faults} == set(KINDS)
    assert drawn[7] == plan(random.Random("7 faults"), 100.0, (1.0, 30.0))


def test_every_statement_that_faults_target_exists_in_the_service() -> None:
    modules = [import_module(module.name) for module in iter_modules(store.__path__, "bookgen.store.")]
    texts = {" ".join(text.split()) for module in modules for text in vars(module).values() if isinstance(text, str)}

    assert [aim for aim in AIMS.values() if aim != "COMMIT" and not any(text.startswith(aim) for text in texts)] == []


def test_a_frozen_process_continues_later_and_a_killed_one_never() -> None:
    loop = SimulatedLoop(random.Random(1))
    frozen, killed = Owner("frozen"), Owner("killed")
    said: list[tuple[str, float]] = []
    for owner in (frozen, killed):
        loop.add(owner)
        with loop.acting_as(owner):
            loop.call_later(1.0, lambda name=owner.name: said.append((name, loop.time())))
    frozen.frozen = True
    killed.kill()
    loop.call_later(5.0, setattr, frozen, "frozen", False)

    with pytest.raises(Standstill):
        loop.run_forever()
    loop.close()

    assert said == [("frozen", 5.0)]


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_a_planted_bug_still_fits_the_code(bug: PlantedBug) -> None:
    with contextlib.ExitStack() as planted:
        for patch in bug.patches():
            planted.enter_context(patch)
