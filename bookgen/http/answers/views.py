"""The parts of a book that a caller asks for, with `?fields=` or `Prefer: return=minimal`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bookgen.http.books_schemas import CHAPTERS, MINIMAL_FIELDS
from bookgen.http.edge.keys import QUERY
from bookgen.http.edge.preferences import prefers_minimal


@dataclass(frozen=True, slots=True)
class BookView:
    """The fields that a response includes: `names` are fields of the book, and `chapters` are fields of each chapter.

    `minimal`: the caller sent `Prefer: return=minimal`.
    """

    names: frozenset[str]
    chapters: frozenset[str] = frozenset()
    minimal: bool = False

    @property
    def headers(self) -> dict[str, str]:
        return {"Preference-Applied": "return=minimal"} if self.minimal else {}

    def of_book(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in whole.items() if name in self.names}

    def of_chapter(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in whole.items() if name in self.chapters}


def view_of(request: web.Request) -> BookView | None:
    """The fields that the caller asked for; None if the caller asked for the whole book."""
    if named := request.get(QUERY, {}).get("fields"):
        chosen = named.split(",")
        of_chapters = frozenset(name.removeprefix(f"{CHAPTERS}.") for name in chosen if name.startswith(f"{CHAPTERS}."))
        return BookView(frozenset(name for name in chosen if "." not in name), of_chapters)
    if prefers_minimal(request.headers.getall("Prefer", ())):
        return BookView(MINIMAL_FIELDS, minimal=True)
    return None
