"""`kill -9` between any two steps of a checkout, a webhook and a completion, then a restart: the same outcome."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fakes.stripe_server import FakeStripe

ROOT = Path(__file__).parents[2]
NOTHING = {
    "balance": "0", "ledger_rows": "0", "accounts": "1", "mails": "0", "plans": "free active", "holds": "0",
    "consumptions": "0", "books": "0", "paid": "0", "charged": "[]", "ending": "0",
    "planned": "None", "schedules": "",
}  # fmt: skip
ENDS = {
    "credits": {"balance": "5", "ledger_rows": "1", "paid": "1", "charged": "[3999]"},
    "guest": {"balance": "5", "ledger_rows": "1", "mails": "1", "paid": "1", "charged": "[3999]"},
    "plan": {"plans": "starter active", "paid": "1", "charged": "[1900]"},
    "upgrade": {"plans": "pro active", "paid": "1", "charged": "[1900, 3000]"},
    "downgrade": {
        "plans": "pro active", "paid": "1", "charged": "[49000]", "planned": "starter monthly", "schedules": "active 2",
    },
    "comeback": {"plans": "pro active", "paid": "1", "charged": "[1900, 3000]"},
    "completion": {
        "balance": "4", "ledger_rows": "2", "consumptions": "2", "books": "1", "paid": "1", "charged": "[3999]",
    },
}  # fmt: skip

# Lives per flow: one for each step and one to the end. If there are fewer, `dying` has missed a step.
LIVES = {"credits": 6, "guest": 5, "plan": 13, "upgrade": 12, "downgrade": 8, "comeback": 19, "completion": 5}


@pytest.mark.timeout(300)
async def test_killing_the_process_before_any_step_does_not_change_the_outcome(dsn):
    stripe = FakeStripe()
    url = await stripe.start()

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.billing.dying", dsn, url, *ENDS, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    output, _ = await process.communicate()
    await stripe.stop()

    assert process.returncode == 0
    lives = Counter[str]()
    for line in output.decode().splitlines():
        if line.startswith("{"):
            life = json.loads(line)
            flow, step = life.pop("flow"), life.pop("step")
            lives[flow] += 1
            assert life == NOTHING | ENDS[flow], f"killed before step {step} of {flow}"
    assert {flow: least for flow, least in LIVES.items() if lives[flow] < least} == {}
