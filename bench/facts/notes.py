"""The facts of unchanged books: from `notes/NAME.json`, or else that people act where they are named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from bench.facts.carriers import Carrier
from bookgen.models import Fact
from bookgen.writing.facts.noting import read_facts

NOTES = Path(__file__).parent / "notes"
QUOTE_CHARACTERS = 60


def notes_of(carrier: Carrier) -> list[Fact]:
    """The facts of each chapter, in order, as the service reads them from a note."""
    path = NOTES / f"{carrier.name}.json"
    noted = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return [
        fact
        for number, text in enumerate(carrier.chapters, 1)
        for fact in read_facts({"facts": noted.get(str(number)) or list(_acts(carrier, text))}, number, text, ())
    ]


def _acts(carrier: Carrier, text: str) -> Iterator[dict[str, str]]:
    for name in carrier.people:
        if found := re.search(rf"\b{re.escape(name.split()[0])}\b[^\n]*", text):
            yield {"kind": "acts", "subject": name, "value": "is named", "quote": found[0][:QUOTE_CHARACTERS]}
