"""Shared by all peers: tables, queries, a rate limit in memory, and the body of a status."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

DSN = os.environ.get("PEER_DSN", "")
SECRET = os.environ.get("PEER_SECRET", "")
CONNECTIONS = 10
LIMIT, WINDOW_SECONDS = 10_000_000, 60

TABLES = """
    CREATE TABLE books (
        id bigint PRIMARY KEY, user_id bigint NOT NULL, title text NOT NULL, subtitle text NOT NULL,
        genre text NOT NULL, target_audience text NOT NULL, description text NOT NULL, chapter_count int NOT NULL,
        target_word_count int NOT NULL, trim_size text NOT NULL, content_language text NOT NULL, status text NOT NULL,
        chapters_count int NOT NULL, word_count int NOT NULL, cover_url text,
        created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    CREATE INDEX ON books (user_id, updated_at DESC);
    CREATE TABLE chapters (
        id bigint PRIMARY KEY, book_id bigint NOT NULL, number int NOT NULL, title text NOT NULL,
        summary text NOT NULL, content text NOT NULL, word_budget int NOT NULL);
    CREATE INDEX ON chapters (book_id, number);
    CREATE TABLE generation_progress (
        book_id bigint PRIMARY KEY, user_id bigint NOT NULL, generation_status text NOT NULL,
        completed_chapters int NOT NULL, total_chapters int NOT NULL, status_message text NOT NULL,
        outline jsonb NOT NULL);
"""

STATUS = """
    SELECT p.generation_status, p.completed_chapters, p.total_chapters, p.status_message, p.outline
      FROM generation_progress p JOIN books b ON b.id = p.book_id
     WHERE p.book_id = $1 AND b.user_id = $2
"""
BOOK_COLUMNS = (
    "id, title, subtitle, genre, target_audience, description, chapter_count, target_word_count, trim_size, "
    "content_language, status, chapters_count, word_count, cover_url, created_at, updated_at"
)
LIST = f"SELECT {BOOK_COLUMNS} FROM books WHERE user_id = $1 ORDER BY updated_at DESC"  # noqa: S608 (constants)
BOOK = f"SELECT {BOOK_COLUMNS} FROM books WHERE id = $1 AND user_id = $2"  # noqa: S608 (constants)
CHAPTERS = "SELECT id, number, title, summary, content, word_budget FROM chapters WHERE book_id = $1 ORDER BY number"
SAVE = """
    UPDATE chapters c SET title = coalesce($3, c.title), content = coalesce($4, c.content)
      FROM books b
     WHERE c.id = $1 AND b.id = c.book_id AND b.user_id = $2
    RETURNING c.id, c.number, c.title, c.summary, c.content, c.word_budget, c.book_id
"""

_windows: dict[object, list[float]] = {}


def take(caller: object) -> dict[str, str]:
    """Take one request from the caller's limit. Returns the headers. Raises KeyError if none is left."""
    now = time.monotonic()
    window = _windows.get(caller)
    if window is None or now >= window[0]:
        window = _windows[caller] = [now + WINDOW_SECONDS, 0]
    window[1] += 1
    left = LIMIT - int(window[1])
    if left < 0:
        raise KeyError(caller)
    return {
        "RateLimit-Limit": str(LIMIT),
        "RateLimit-Remaining": str(left),
        "RateLimit-Reset": str(int(window[0] - now) + 1),
        "X-API-Version": "v1",
        "X-API-Version-Latest": "v1",
    }


def status_body(row: Mapping[str, Any], outline: Any) -> dict[str, Any]:
    done, total = row["completed_chapters"], row["total_chapters"]
    return {
        "generation_status": row["generation_status"],
        "completed_chapters": done,
        "total_chapters": total,
        "percentage": round(100 * done / total, 1) if total else 0.0,
        "status_message": row["status_message"],
        "outline": outline,
    }
