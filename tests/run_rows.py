"""Runs as the database gives them, for what is told of one without writing it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from bookgen.models import Run, RunMode, RunStatus

NOW = datetime(2026, 1, 1, 14, 2, tzinfo=UTC)


def a_run(account_id: int = 1, book_id: int = 1, **fields: Any) -> Run:
    """A run of one book that runs; `fields` say what is otherwise."""
    running = {
        "id": uuid4(), "status": RunStatus.RUNNING, "mode": RunMode.FULL, "total": 2, "done": 0, "call_no": 1,
        "epoch": 1, "owner": None, "crash_count": 0, "queue_seq": 1, "current_chapter": 1, "words_written": 0,
        "failure": None, "last_op": None, "started_at": NOW, "updated_at": NOW, "finished_at": None,
    }  # fmt: skip
    return Run(account_id=account_id, book_id=book_id, **running | fields)
