"""What the alarms on the held half are, each looked at in its passage: a fault that stands in the text, or none.

Old novels were read by machines and typed by hand: a text with "Vážku , kdykoli" is not sound, and who says so is
right. `adjudicated.tsv` has novel, chapter, offset, verdict and reason of every alarm. In doubt the text is `sound` and
the alarm is false, and so is one that is not listed.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from bookgen.writing.proofreading.correction import Correction

FILE = Path(__file__).with_suffix(".tsv")
SHOWN = 60  # characters of a passage that are listed

Place = tuple[str, int, int, str]


def is_fault(novel: str, chapter: int, correction: Correction) -> bool:
    """Whether something is wrong with the text there; nothing is said of what it should be."""
    return _verdicts().get((novel, chapter, correction.start, correction.original[:SHOWN])) == "fault"


@cache
def _verdicts() -> dict[Place, str]:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(row["novel"], int(row["chapter"]), int(row["start"]), row["passage"]): row["verdict"] for row in rows}
