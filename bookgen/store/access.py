"""Whether a row is an account's."""

from __future__ import annotations

from bookgen.store.database import DB

# By the collection in which it has its path.
OWNS = {
    "books": "SELECT EXISTS (SELECT FROM book WHERE account_id = $1 AND id = $2)",
    "chapters": """
        SELECT EXISTS (SELECT FROM chapter c JOIN book b ON b.id = c.book_id WHERE b.account_id = $1 AND c.id = $2)
    """,
    "illustrations": """
        SELECT EXISTS (SELECT FROM illustration i JOIN chapter c ON c.id = i.chapter_id JOIN book b ON b.id = c.book_id
                        WHERE b.account_id = $1 AND i.id = $2)
    """,
    "proofreading-reports": "SELECT EXISTS (SELECT FROM report WHERE account_id = $1 AND id = $2)",
}


async def owns(db: DB, account_id: int, collection: str, row_id: int) -> bool:
    return bool(await db.fetchval(OWNS[collection], account_id, row_id))
