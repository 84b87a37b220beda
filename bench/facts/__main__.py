"""Do the rules find contradictions? They are planted in books of twelve languages.

python -m bench.facts               every template, in ten books each; one minute
python -m bench.facts --each N      in N books each
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

from bench.facts import rows
from bench.facts.carriers import Carrier, carriers
from bench.facts.notes import notes_of
from bench.facts.plant import contradictions, look_alikes, unchanged
from bench.facts.rows import Count, Honest
from bench.facts.templates import LISTS, read

SHOWN = 10  # false alarms


def planted(books: Sequence[Carrier], each: int) -> Count:
    count, rng = Count(), random.Random(3)
    for book in contradictions(books, each):
        count.add(book, rng)
    return count


def honest(books: Sequence[Carrier], each: int) -> Honest:
    found = Honest()
    for carrier in books:
        facts = notes_of(carrier)
        found.words += carrier.words
        found.facts += len(facts)
        found.alarms += [f"{carrier.name}: {each.quote}" for each in unchanged(carrier, facts)]
    for book in look_alikes(books, each):
        found.look_alikes += 1
        found.alarms += [f"{book.told.language}, {book.told.kind}: {each.quote}" for each in book.findings()]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.facts")
    parser.add_argument("--each", type=int, default=10, metavar="N", help="books for each template (10)")
    options = parser.parse_args()
    books = carriers(tuple(dict.fromkeys(language for name in LISTS for language in read(name))))
    count, true = planted(books, options.each), honest(books, max(options.each // 5, 1))
    print(*rows.table(count), sep="\n")
    print("", *rows.with_the_judge(count), "", sep="\n")
    print(
        f"{len(books)} books of {true.words:,} words as they are with {true.facts} facts, {true.look_alikes} more "
        f"with passages that only look like a contradiction: {len(true.alarms)} false alarms."
    )
    print(*(f"false alarm: {each}\n" for each in [*count.alarms, *true.alarms][:SHOWN]), sep="", end="")
    bars = rows.verdicts(count, true)
    print("\n| bar | measured | |\n|---|---|---|")
    print(*bars, sep="\n")
    return 0 if all(each.is_kept for each in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
