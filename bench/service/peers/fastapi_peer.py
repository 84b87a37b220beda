"""FastAPI, uvicorn and asyncpg, in the usual style: dependencies and response models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any

import asyncpg
import jwt
import orjson
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel

from bench.service.peers.common import BOOK, CHAPTERS, CONNECTIONS, DSN, LIST, SAVE, SECRET, STATUS, status_body, take


@asynccontextmanager
async def life(app: FastAPI) -> AsyncIterator[None]:
    async def prepare(connection: asyncpg.Connection) -> None:
        await connection.set_type_codec(
            "jsonb", encoder=lambda value: orjson.dumps(value).decode(), decoder=orjson.loads, schema="pg_catalog"
        )

    async with asyncpg.create_pool(DSN, min_size=CONNECTIONS, max_size=CONNECTIONS, init=prepare) as app.state.pool:
        yield


app = FastAPI(lifespan=life, openapi_url=None)


async def caller(request: Request, response: Response) -> int:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    realm = {"WWW-Authenticate": 'Bearer realm="api"'}
    if scheme != "Bearer":
        raise HTTPException(401, headers=realm)
    try:
        user: int = jwt.decode(token, SECRET, algorithms=["HS256"])["user_id"]
    except jwt.PyJWTError:
        raise HTTPException(401, headers=realm) from None
    try:
        response.headers.update(take(user))
    except KeyError:
        raise HTTPException(429) from None
    return user


Caller = Annotated[int, Depends(caller)]


class OutlineItem(BaseModel):
    id: int
    chapter_number: int
    title: str
    has_content: bool
    word_count: int


class StatusModel(BaseModel):
    generation_status: str
    completed_chapters: int
    total_chapters: int
    percentage: float
    status_message: str
    outline: list[OutlineItem]


class BookModel(BaseModel):
    id: int
    title: str
    subtitle: str
    genre: str
    target_audience: str
    description: str
    chapter_count: int
    target_word_count: int
    trim_size: str
    content_language: str
    status: str
    chapters_count: int
    word_count: int
    cover_url: str | None
    created_at: datetime
    updated_at: datetime


class ChapterModel(BaseModel):
    id: int
    number: int
    title: str
    summary: str
    content: str
    word_budget: int


class WholeBookModel(BookModel):
    chapters: list[ChapterModel]


class ChapterChanges(BaseModel):
    title: str | None = None
    content: str | None = None


@app.get("/api/v1/books/{id}/generation-status/", response_model=StatusModel)
async def status(id: int, user: Caller, request: Request) -> Any:
    row = await request.app.state.pool.fetchrow(STATUS, id, user)
    if row is None:
        raise HTTPException(404)
    return status_body(row, row["outline"])


@app.get("/api/v1/books/", response_model=list[BookModel])
async def books(user: Caller, request: Request) -> Any:
    return [dict(row) for row in await request.app.state.pool.fetch(LIST, user)]


@app.get("/api/v1/books/{id}/", response_model=WholeBookModel)
async def book(id: int, user: Caller, request: Request) -> Any:
    async with request.app.state.pool.acquire() as connection:
        found = await connection.fetchrow(BOOK, id, user)
        if found is None:
            raise HTTPException(404)
        return {**found, "chapters": [dict(row) for row in await connection.fetch(CHAPTERS, id)]}


@app.patch("/api/v1/chapters/{id}/", response_model=ChapterModel)
async def save(id: int, changes: ChapterChanges, user: Caller, request: Request) -> Any:
    row = await request.app.state.pool.fetchrow(SAVE, id, user, changes.title, changes.content)
    if row is None:
        raise HTTPException(404)
    return dict(row)
