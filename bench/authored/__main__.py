"""Do a strong model's words reach the page? Sends recorded replies through the real service and compares the books.

python -m bench.authored                           every book, then the planted faults; a few minutes
python -m bench.authored --only NAME [NAME …]      only these books
python -m bench.authored --plants                  only the planted faults
python -m bench.authored --revised                 only productions with recorded editors' readings
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from bench.authored import rows
from bench.authored.corpus import read_books
from bench.authored.plants import honest, plant, plant_bars, plant_lines, plants
from bench.authored.revised import NAMES, produced, revision_bars
from bench.authored.rows import Bar, BookResult
from bench.authored.service import press

SHOWN = 6  # sentences per chapter


async def books(names: list[str]) -> list[Bar]:
    print(f"| {' | '.join(rows.HEADINGS)} |\n{'|---' * len(rows.HEADINGS)}|")
    results: list[BookResult] = []
    with tempfile.TemporaryDirectory() as folder:
        async with press(Path(folder)) as service:
            for book in read_books(names):
                results.append(await service.print(book))
                print(rows.row(results[-1]), flush=True)
    print()
    for result in results:
        print(*(f"{line}\n" for line in rows.details(result, SHOWN)), sep="", end="")
    return rows.verdicts(results)


async def faults() -> list[Bar]:
    written = read_books([])
    results = [await plant(each) for each in (*plants(written), *honest(written))]
    print(*plant_lines(results), sep="\n")
    return list(plant_bars(results))


async def revisions() -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        async with press(Path(folder)) as service:
            results = [await produced(service, book) for book in read_books(list(NAMES))]
    print("\n| production | findings | changed | left | words added |\n|---|---|---|---|---|")
    print(*(result.row() for result in results), sep="\n")
    return list(revision_bars(results))


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.authored")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these books, and no planted faults")
    parser.add_argument("--plants", action="store_true", help="only the planted faults")
    parser.add_argument("--revised", action="store_true", help="only the productions")
    options = parser.parse_args()
    found: list[Bar] = []
    if not options.plants and not options.revised:
        found += await books(options.only)
    if not options.only and not options.revised:
        found += await faults()
    if not options.only and not options.plants:
        found += await revisions()
    print("\n| bar | measured | |\n|---|---|---|")
    print(*found, sep="\n")
    return 0 if all(each.is_kept for each in found) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
