"""Checks writing against its bars, with a scripted model on both protocols and the real SDKs.

python -m bench.writing            everything; a few minutes
python -m bench.writing --quick    smaller books, about a minute
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence

from bench.writing import continuity, cost, faults, lengths, quality, replies, seams
from bench.writing.row import Measure, Size
from bookgen import logs

FULL = Size(chapters=30, words=3_000, replies=500, books=50)
QUICK = Size(chapters=12, words=3_000, replies=60, books=6)


SCENARIOS = {
    "lengths": lengths.rows,
    "seams": seams.rows,
    "replies": replies.rows,
    "faults": faults.rows,
    "continuity": continuity.rows,
    "cost": cost.rows,
    "quality": quality.rows,
}


async def rows(size: Size, names: Sequence[str]) -> AsyncIterator[Measure]:
    for name in names:
        async for row in SCENARIOS[name](size):
            yield row


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.writing")
    parser.add_argument("--quick", action="store_true", help="smaller books")
    parser.add_argument("scenarios", nargs="*", help=f"{', '.join(SCENARIOS)}; all if none is given")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    logs.configure_logs("console", "critical")
    print(f"Standard book: {size.chapters} chapters x {size.words} words.\n")
    print("| what | protocol | measured | bar | |\n|---|---|---|---|---|")
    kept = True
    async for row in rows(size, options.scenarios or list(SCENARIOS)):
        verdict = "kept" if row.kept else "MISSED"
        print(f"| {row.what} | {row.protocol} | {row.measured} | {row.bar} | {verdict} |", flush=True)
        kept = kept and row.kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
