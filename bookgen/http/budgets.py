"""Chapter budgets are taken as given, but together they buy no longer book than the plan has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from bookgen.http.edge.keys import ACCOUNT_ID, QUOTA
from bookgen.store import chapters

if TYPE_CHECKING:
    from asyncpg import Connection


async def require_budgets(request: web.Request, connection: Connection, book_id: int) -> None:
    """PlanUpgradeRequired when the budgets outgrow the book's target and what the caller may have written."""
    words = await chapters.words_beyond_target(connection, book_id)
    if words is not None:
        await request.app[QUOTA].require_words(connection, request[ACCOUNT_ID], book_id, words)
