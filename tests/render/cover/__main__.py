"""Judge many covers: `python -m tests.render.cover [--from 0] [--count 10000]`, as `make covers` does.

`--design hero` draws this design for each book, instead of all designs in turn.

If calibre is installed, its generator also makes a cover for every seventh book, for comparison. A fault is printed
with the number of its book, which draws the same cover again. Progress lines show how to continue with `--from`. The
exit code is 1 if there was a fault, if two variants of a book look alike, or if a cover takes too long.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bookgen.render.cover.families import DESIGNS, Family
from bookgen.render.cover.job import CoverJob
from bookgen.render.cover.make import HEIGHT, WIDTH, make_cover
from bookgen.render.cover.variants import draw_front
from tests.render.cover.books import WORDS, book, subject
from tests.render.cover.judge import NEAR, alike, faults

SAMPLED = 7  # every so many books, of every script, variants are compared and files are timed
LONG = 120  # characters: for every title this long, variants are compared, because they may have no figure
SAID = 200  # books per progress line
SECONDS = 1.0  # seconds of CPU that a cover may take


@dataclass(slots=True)
class Findings:
    """The results so far. `cost`: seconds of CPU for each cover with its thumbnail."""

    designs: Sequence[Family] = tuple(DESIGNS.values())
    judged: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    covers: Counter[tuple[str, str]] = field(default_factory=Counter)
    nearest: int = 64
    cost: list[float] = field(default_factory=list)

    def judge(self, number: int) -> None:
        seed, copy, _ = book(number)
        family = self.designs[number % len(self.designs)]
        drawing = draw_front(
            copy,
            seed=seed,
            family=family,
            variant=number % 4,
            width=WIDTH,
            height=HEIGHT,
            subject=subject(number),
        )
        self.judged += 1
        self.covers["family", family.name] += 1
        self.covers["script", list(WORDS)[number % len(WORDS)]] += 1
        for fault in faults(drawing, copy):
            self.faults[family.name] += 1
            print(f"book {number}, {family.name}, {copy.language}, {len(copy.title)} characters: {fault}", flush=True)
        if number % SAMPLED == 0 or len(copy.title) > LONG:
            self._sample(number)

    def _sample(self, number: int) -> None:
        seed, copy, genre = book(number)
        bits = alike(seed, copy, genre)
        self.nearest = min(self.nearest, bits)
        if bits < NEAR:
            print(f"book {number}: two of its variants differ in {bits} of 64 bits", flush=True)
        started = time.process_time()
        make_cover(CoverJob(copy, seed, genre, number))
        self.cost.append(time.process_time() - started)

    @property
    def dear(self) -> int:
        """How many covers took too long."""
        return sum(seconds > SECONDS for seconds in self.cost)

    def rows(self) -> list[tuple[str, str]]:
        cost = sorted(self.cost)
        rows = [
            ("covers judged", f"{self.judged}"),
            ("families, each at least", f"{len(self.designs)}, {min(self._counts('family'))}"),
            ("scripts, each at least", f"{len(WORDS)}, {min(self._counts('script'))}"),
            ("faults by boxes and pixels", f"{self.faults.total()}"),
            ("books with their variants compared", f"{len(cost)}, the nearest differ in {self.nearest} of 64 bits"),
        ]
        if cost:
            spread = f"median {cost[len(cost) // 2]:.2f}, 99 of 100 below {cost[len(cost) * 99 // 100]:.2f}"
            rows.append(("seconds of CPU for a cover", f"{spread}, the dearest {cost[-1]:.2f}, {self.dear} over 1"))
        return rows

    def _counts(self, kind: str) -> list[int]:
        return [count for (of, _), count in self.covers.items() if of == kind]


def calibre(numbers: range) -> list[tuple[str, str]]:
    """The results of calibre's generator, judged by its text boxes alone."""
    command = shutil.which("calibre-debug")
    if command is None:
        return [("calibre", "not installed")]
    copies = [book(number)[1] for number in numbers]
    asked = json.dumps([{"title": each.title, "subtitle": each.subtitle, "author": each.author} for each in copies])
    script = Path(__file__).with_name("calibre_covers.py")
    ran = subprocess.run([command, script], input=asked, capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout)
    faults = Counter(fault for cover in told for fault in cover["faults"])
    cost = sorted(cover["seconds"] for cover in told)
    return [
        ("calibre: covers, with a fault", f"{len(told)}, {sum(bool(cover['faults']) for cover in told)}"),
        *((f"calibre: {fault}", f"{times}") for fault, times in faults.most_common()),
        ("calibre: seconds of CPU for a cover", f"median {cost[len(cost) // 2]:.2f}, the dearest {cost[-1]:.2f}"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.render.cover", description="Judges seeded covers.")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first book's number")
    parser.add_argument("--count", type=int, default=10_000, help="how many books")
    parser.add_argument("--design", choices=DESIGNS, help="draw only this design")
    asked = parser.parse_args()
    designs = (DESIGNS[asked.design],) if asked.design else tuple(DESIGNS.values())
    found, end = Findings(designs), asked.first + asked.count
    for number in range(asked.first, end):
        found.judge(number)
        if found.judged % SAID == 0 and number + 1 < end:
            print(f"up to book {number}: {found.faults.total()} faults; goes on with --from {number + 1}", flush=True)
    for name, value in [*found.rows(), *calibre(range(asked.first, end, SAMPLED))]:
        print(f"{name:52}{value}")
    return int(bool(found.faults) or found.nearest < NEAR or found.dear > 0)


if __name__ == "__main__":
    raise SystemExit(main())
