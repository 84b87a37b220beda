"""The output schemas of the MCP tools."""

from __future__ import annotations

from typing import (
    Any,
    NotRequired,  # pydantic takes no other before Python 3.12
)

from pydantic import ConfigDict
from typing_extensions import TypedDict


class BookBrief(TypedDict):
    id: int
    title: str
    status: str
    chapters_count: int
    word_count: int
    target_word_count: int


class BookList(TypedDict):
    books: list[BookBrief]
    note: NotRequired[str]


class OutlineAnswerChapter(TypedDict):
    chapter_number: int
    title: str
    summary: str
    target_word_count: int
    word_count: int


class OutlineAnswer(BookBrief):
    notice: str
    blurb: str
    chapters: list[OutlineAnswerChapter]


class RunCommand(TypedDict):
    message: str
    book_id: int
    task_id: str
    generation_status: str


class RunStatusAnswer(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    task_id: str
    generation_status: str
    status_message: str
    percentage: float
    completed_chapters: int
    total_chapters: int
    failure: dict[str, Any] | None


class ChapterAnswer(TypedDict):
    notice: str
    chapter_number: int
    title: str
    word_count: int
    content: str


class SavedFiles(TypedDict):
    files: list[str]
    missing_chapters: list[int]
    declaration: str
