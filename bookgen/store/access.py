"""The check that a row belongs to an account."""

from __future__ import annotations

from bookgen.store.database import DB

OWNS = {
    "book": "SELECT EXISTS (SELECT FROM book WHERE account_id = $1 AND id = $2)",
    "chapter": """
        SELECT EXISTS (SELECT FROM chapter c JOIN book b ON b.id = c.book_id WHERE b.account_id = $1 AND c.id = $2)
    """,
    "illustration": """
        SELECT EXISTS (SELECT FROM illustration i JOIN chapter c ON c.id = i.chapter_id JOIN book b ON b.id = c.book_id
                        WHERE b.account_id = $1 AND i.id = $2)
    """,
    "report": "SELECT EXISTS (SELECT FROM report WHERE account_id = $1 AND id = $2)",
}


async def owns(db: DB, account_id: int, table: str, row_id: int) -> bool:
    """Whether the row exists and belongs to the account."""
    return bool(await db.fetchval(OWNS[table], account_id, row_id))
