"""Everything stored about an account, for export by its owner: rows as JSON, without secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from bookgen.store.database import DB

# The hashes of the password and the browser are of no use to a person, and ids are internal.
ACCOUNT = """
    SELECT to_jsonb(account) - '{id, password_hash, fingerprint, username_key, email_key, is_superuser}'::text[] AS row
      FROM account WHERE id = $1
"""
ORIGINS = "SELECT to_jsonb(t) - 'account_id' AS row FROM account_origin t WHERE account_id = $1 ORDER BY seen_at"
ADDRESSES = "SELECT to_jsonb(t) - 'account_id' AS row FROM former_address t WHERE account_id = $1"
SUBSCRIPTION = """
    SELECT to_jsonb(t) - 'account_id' || jsonb_build_object('plan', plan.slug) AS row
      FROM subscription t JOIN plan ON plan.id = t.plan_id WHERE account_id = $1
"""
USAGE = "SELECT to_jsonb(t) - 'account_id' AS row FROM usage_period t WHERE account_id = $1"
PURCHASES = "SELECT to_jsonb(t) - 'account_id' AS row FROM checkout t WHERE account_id = $1 ORDER BY id"
CREDITS = "SELECT to_jsonb(t) - 'account_id' AS row FROM credit_transaction t WHERE account_id = $1 ORDER BY id"
ADDONS = "SELECT to_jsonb(t) - 'account_id' AS row FROM account_addon t WHERE account_id = $1"
HISTORY = "SELECT to_jsonb(t) - 'account_id' AS row FROM audit t WHERE account_id = $1 ORDER BY id"
CALLS = "SELECT to_jsonb(t) - 'account_id' AS row FROM model_call t WHERE account_id = $1 ORDER BY id"


async def account_rows(db: DB, account_id: int) -> dict[str, list[dict[str, Any]]]:
    """The account's rows outside its books, by topic."""
    parts = {
        "account": ACCOUNT,
        "browsers_and_networks": ORIGINS,
        "former_addresses": ADDRESSES,
        "subscription": SUBSCRIPTION,
        "usage": USAGE,
        "purchases": PURCHASES,
        "credits": CREDITS,
        "addons": ADDONS,
        "history": HISTORY,
        "model_calls": CALLS,
    }
    return {name: await _rows(db, statement, account_id) for name, statement in parts.items()}


BOOKS = "SELECT id, to_jsonb(book) - 'account_id' AS row FROM book WHERE account_id = $1 ORDER BY id"
CHAPTERS = "SELECT to_jsonb(t) AS row FROM chapter t WHERE book_id = $1 ORDER BY chapter_number"
REVISIONS = """
    SELECT to_jsonb(t) AS row FROM chapter_revision t
     WHERE chapter_id IN (SELECT id FROM chapter WHERE book_id = $1) ORDER BY id
"""
RUNS = """
    SELECT to_jsonb(t) - '{account_id, owner, epoch, last_op, lost_calls}'::text[] AS row FROM run t WHERE book_id = $1
"""
COVERS = "SELECT to_jsonb(t) AS row FROM cover t WHERE book_id = $1 ORDER BY id"
ILLUSTRATIONS = """
    SELECT to_jsonb(t) AS row FROM illustration t
     WHERE chapter_id IN (SELECT id FROM chapter WHERE book_id = $1) ORDER BY id
"""
REPORTS = "SELECT to_jsonb(t) - 'account_id' AS row FROM report t WHERE book_id = $1 ORDER BY id"
SUGGESTIONS = """
    SELECT to_jsonb(t) AS row FROM suggestion t
     WHERE report_id IN (SELECT id FROM report WHERE book_id = $1) ORDER BY id
"""


async def books(db: DB, account_id: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Yield each book of the account: its id, and its rows by topic."""
    parts = {
        "chapters": CHAPTERS,
        "revisions": REVISIONS,
        "runs": RUNS,
        "covers": COVERS,
        "illustrations": ILLUSTRATIONS,
        "reports": REPORTS,
        "suggestions": SUGGESTIONS,
    }
    for book in await db.fetch(BOOKS, account_id):
        rows = {name: await _rows(db, statement, book["id"]) for name, statement in parts.items()}
        yield book["id"], {"book": book["row"], **rows}


PICTURES = "SELECT key FROM media WHERE book_id = $1 ORDER BY key"


async def pictures(db: DB, book_id: int) -> list[str]:
    """The keys of the book's pictures."""
    return [row["key"] for row in await db.fetch(PICTURES, book_id)]


async def _rows(db: DB, statement: str, key: int) -> list[dict[str, Any]]:
    return [record["row"] for record in await db.fetch(statement, key)]
