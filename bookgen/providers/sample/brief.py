"""The input of sample text: the brief (the fields of a request), with defaults for missing fields."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bookgen.providers.text import TextRequest

_NONFICTION = re.compile(
    r"non.?fiction|self.?help|business|guide|how.?to|essay|manual|handbook|textbook|education|science$|health|"
    r"finance|cook|travel|psycholog|philosoph|econom|manag|leader|technolog|programm|product|parent|craft|garden|"
    r"sachbuch|ratgeber|essai|ensayo|autoayuda",
    re.IGNORECASE,
)
_PALETTES = {
    "fantasy": r"fantas|magic|myth|fairy|dragon|epic",
    "science": r"science.?fiction|sci.?fi|space|cyber|dystop|robot",
    "mystery": r"myster|crime|thrill|detect|noir|krimi|polar|policiac",
    "romance": r"roman(ce|tic)|love",
    "history": r"histor|war\b|western|period",
    "horror": r"horror|ghost|gothic|suspense",
    "children": r"child|kids|picture|middle.?grade|kinder|enfant|infantil",
}


@dataclass(frozen=True, slots=True)
class Brief:
    fields: Mapping[str, Any]
    salt: str

    @classmethod
    def of(cls, request: TextRequest) -> Brief:
        """Return the brief of `request`. The last message of the request only affects which phrases are picked."""
        fields = request.described()
        return cls(fields, json.dumps(fields, ensure_ascii=False) + request.messages[-1].text)

    def text(self, name: str, default: str = "") -> str:
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) and value.strip() else default

    def number(self, name: str, default: int) -> int:
        value = self.fields.get(name)
        return int(value) if isinstance(value, int | float) and value > 0 else default

    @property
    def title(self) -> str:
        return self.text("title", "Untitled")

    @property
    def nonfiction(self) -> bool:
        genre = self.text("genre")
        return bool(_NONFICTION.search(genre)) and not re.search(r"(science|historical).?fiction", genre, re.IGNORECASE)

    @property
    def palette(self) -> str:
        genre = f"{self.text('genre')} {self.text('audience')}"
        return next((name for name, words in _PALETTES.items() if re.search(words, genre, re.IGNORECASE)), "default")

    @property
    def people(self) -> list[str]:
        return [name for name in self.fields.get("people", ()) if name.strip()]

    def book_rng(self, purpose: str) -> random.Random:
        """Return a random generator that gives the same numbers in every call about the book.

        `purpose`: generators for different purposes give different numbers.
        """
        return _rng(purpose, self.title, self.text("genre"))

    def call_rng(self) -> random.Random:
        return _rng(self.salt)


def _rng(*parts: str) -> random.Random:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return random.Random(int.from_bytes(digest))
