"""Verdicts on the alarms in the held-out half, each checked in its passage: a real fault of the text, or a false alarm.

Old novels were scanned or typed by hand, so a text may have real faults ("Vážku , kdykoli"). `adjudicated.tsv` lists
novel, chapter, offset, verdict and reason for each alarm. In case of doubt, and for an alarm that is not listed, the
text is `sound` and the alarm is false.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from bookgen.writing.proofreading.correction import Correction

FILE = Path(__file__).with_suffix(".tsv")
SHOWN = 60  # characters of a passage

Place = tuple[str, int, int, str]


def is_fault(novel: str, chapter: int, correction: Correction) -> bool:
    """Whether the text has a fault there, whatever the correct text would be."""
    return _verdicts().get((novel, chapter, correction.start, correction.original[:SHOWN])) == "fault"


@cache
def _verdicts() -> dict[Place, str]:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(row["novel"], int(row["chapter"]), int(row["start"]), row["passage"]): row["verdict"] for row in rows}
