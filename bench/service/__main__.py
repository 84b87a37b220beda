"""The whole service from outside, compared with peers, in one run on one PostgreSQL. Compare the ratios.

    python -m venv .venv-bench && .venv-bench/bin/pip install -r bench/requirements.txt
    python -m bench.service [--quick] [--only http,beside,start,writing] [--rounds 7] [--seconds 2]

The service is started by its own command with everything on: middleware, limiter, headers, log. Its peers have the same
books under the same ids and get the same requests. The rows of a table take turns, one slice each, and each round
starts with a different row. Each ratio compares two slices of the same round; the median over the rounds is shown.
Slices in which other programs used more than a third of a core are left out if at least five others remain.

The bars apply to the ratio of CPU time per response, of the server and PostgreSQL together, because a busy machine
affects it least. The ratio of responses per second is shown next to it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import uvloop

from bench.service import beside_rows, http_rows, start_rows, writing_rows
from bench.service.bench import Bench
from bench.service.processes import ROOT
from bench.service.scorecard import Scorecard
from bookgen.store.postgres.embedded import EmbeddedPostgres

GROUPS = {
    "http": http_rows.measure,
    "beside": beside_rows.measure,
    "start": start_rows.measure,
    "writing": writing_rows.measure,
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.service")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups of rows, separated by commas")
    parser.add_argument(
        "--quick", action="store_true", help="few short rounds and few books, to see whether the bench works"
    )
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="of a slice")
    parser.add_argument("--polled", type=int, help="number of polled books")
    parser.add_argument("--peers-python", type=Path, default=ROOT / ".venv-bench/bin/python")
    given = parser.parse_args()
    given.rounds = given.rounds or (3 if given.quick else 7)
    given.seconds = given.seconds or (0.5 if given.quick else 2.0)
    given.polled = given.polled or (100 if given.quick else 1000)
    if not given.peers_python.exists():
        raise SystemExit(f"{given.peers_python} is missing: make it as `python -m bench.service --help` says.")
    return given


async def main() -> None:
    given = options()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each start of a server would compile all its code again
    folder = Path(tempfile.mkdtemp(prefix="bookgen-bench-"))
    postgres = EmbeddedPostgres(folder / "postgres", settings={"max_connections": "200"})
    (folder / "postgres").mkdir()
    await postgres.start()
    scores = Scorecard()
    try:
        postmaster = int(next((folder / "postgres").glob("**/postmaster.pid")).read_text().split("\n", 1)[0])
        bench = Bench(given, folder, postgres.superuser_dsn, postmaster)
        for name in given.only.split(","):
            await GROUPS[name](bench, scores)
    finally:
        await postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)
    scores.show()
    sys.exit(not all(bar.passed for bar in scores.bars))


if __name__ == "__main__":
    uvloop.run(main())
