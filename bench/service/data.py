"""The same books for the service and its peers, under the same ids, and the requests about them."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import jwt

from bench.service.peers import common
from bench.service.processes import SECRET, settings, start

PREFIX = "/api/v1"
AUTHORS, BOOKS_EACH = 20, 20  # only the first book of each author has text
CHAPTERS, CHAPTER_WORDS = 20, 3_000

ACCOUNTS = """
    INSERT INTO account (username, email, email_verified)
    SELECT 'user' || n, 'user' || n || '@example.org', true FROM generate_series(1, $1::int) n
    RETURNING id
"""
LATER_ACCOUNTS = """
    INSERT INTO account (username, email, email_verified, password_hash)
    SELECT $1::text || n, $1::text || n || '@example.org', true, $3 FROM generate_series(1, $2::int) n
    RETURNING id
"""
BOOKS = """
    INSERT INTO book (account_id, title, subtitle, genre, target_audience, description, chapter_count,
                      target_word_count, trim_size, content_language, status)
    SELECT owner, 'The Book Number ' || row_number() OVER (), 'A subtitle', 'fantasy', 'adults', $2::text, $3::int,
           $3::int * $4::int, '6x9', 'en', $5::text
      FROM unnest($1::bigint[]) owner
    RETURNING id, account_id
"""
CHAPTER_ROWS = """
    INSERT INTO chapter (book_id, chapter_number, title, summary, content, word_count, target_word_count, status)
    SELECT b.id, b.number, 'Chapter ' || b.number || ': The road', 'What happens in the chapter, in a sentence.',
           b.content, b.words, $5::int, CASE WHEN b.content = '' THEN 'pending' ELSE 'completed' END
      FROM unnest($1::bigint[], $2::int[], $3::text[], $4::int[]) AS b (id, number, content, words)
"""
RUNS = """
    INSERT INTO run (id, book_id, account_id, status, mode, total, done, written, call_no, words_written,
                     writing_seconds, epoch, current_chapter, finished_at)
    SELECT gen_random_uuid(), b.id, b.account_id, $2::text, 'full', k.total, k.done, k.done, k.done, k.words,
           k.done * 30, 1, least(k.done + 1, k.total), CASE WHEN $2::text = 'completed' THEN now() END
      FROM book b
     CROSS JOIN LATERAL (SELECT count(*) AS total, count(*) FILTER (WHERE content <> '') AS done,
                                sum(word_count) AS words FROM chapter WHERE book_id = b.id) k
     WHERE b.id = ANY($1::bigint[])
"""

PEER_BOOKS = """
    SELECT b.id, b.account_id, b.title, b.subtitle, b.genre, b.target_audience, b.description, b.chapter_count,
           b.target_word_count, b.trim_size, b.content_language, b.status, count(*)::int, sum(c.word_count)::int,
           NULL::text, b.created_at, b.updated_at
      FROM book b JOIN chapter c ON c.book_id = b.id GROUP BY b.id
"""
PEER_CHAPTERS = "SELECT id, book_id, chapter_number, title, summary, content, target_word_count FROM chapter"
PEER_PROGRESS = """
    SELECT r.book_id, r.account_id, r.status, r.done, r.total, 'Writing chapter 5 of 20.',
           (SELECT jsonb_agg(jsonb_build_object(
                       'id', c.id, 'chapter_number', c.chapter_number, 'title', c.title,
                       'has_content', c.content <> '', 'word_count', c.word_count) ORDER BY c.chapter_number)
              FROM chapter c WHERE c.book_id = r.book_id)::text
      FROM run r
"""


# Alternates between authors, as in reality: 32 concurrent saves of one author would be handled two at a time.
SAVED = """
    SELECT c.id, b.account_id FROM chapter c JOIN book b ON b.id = c.book_id
     WHERE b.id = ANY($1::bigint[]) ORDER BY c.chapter_number, b.account_id
"""


@dataclass(frozen=True, slots=True)
class Requests:
    """Files with requests for `load.py`."""

    hello: Path
    resident: Path
    elsewhere: Path
    listing: Path
    book: Path
    save: Path
    books: list[int]  # the books in `book`


def token(account_id: int) -> str:
    """A token like the service's own, signed with its secret."""
    now = int(time.time())
    claims = {"token_type": "access", "exp": now + 86_400, "iat": now, "jti": "0" * 32, "user_id": account_id}
    return jwt.encode(claims, SECRET, algorithm="HS256")


async def database(superuser_dsn: str, name: str) -> str:
    """The DSN of a new, empty database."""
    connection = await asyncpg.connect(superuser_dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return urlunsplit(urlsplit(superuser_dsn)._replace(path=f"/{name}"))


async def migrate(dsn: str, folder: Path) -> None:
    """`bookgen migrate`."""
    command = [sys.executable, "-m", "bookgen", "migrate"]
    process = await start(command, settings(0, dsn, folder / "data"), folder / "migrate.log")
    if await process.wait():
        raise SystemExit((folder / "migrate.log").read_text()[-2000:])


# PostgreSQL does not analyse empty tables by itself, and plans made without statistics would scan the filled tables.
ANALYZE = "ANALYZE account, account_slot, subscription, book, chapter"


async def seed(dsn: str, peers_dsn: str, folder: Path, polled: int) -> Requests:
    """Fill both databases: authors with books, and accounts with one book that is being written or paused."""
    connection = await asyncpg.connect(dsn)
    drawn = random.Random(1)
    accounts = [row["id"] for row in await connection.fetch(ACCOUNTS, AUTHORS + 2 * polled)]
    authors, watchers = accounts[:AUTHORS], accounts[AUTHORS:]
    owners = [author for author in authors for _ in range(BOOKS_EACH)]
    finished = await _books(connection, drawn, owners, "completed")
    watched = await _books(connection, drawn, watchers, "generating")
    read = dict(reversed([(owner, book) for book, owner in finished]))  # the first book of each
    for book, owner in finished:
        await _chapters(connection, drawn, book, CHAPTERS, CHAPTER_WORDS if read[owner] == book else 1)
    for number, (book, _) in enumerate(watched):
        await _chapters(connection, drawn, book, number % CHAPTERS, 1)
    running = [book for book, _ in watched[:polled]]
    await connection.execute(RUNS, [book for book, _ in finished], "completed")
    await connection.execute(RUNS, running, "running")
    await connection.execute(RUNS, [book for book, _ in watched[polled:]], "paused")
    await connection.execute(f"VACUUM {ANALYZE}, run")
    saved = await connection.fetch(SAVED, list(read.values()))
    await _copy_for_peers(connection, peers_dsn)
    await connection.close()

    tokens = {author: token(author) for author in authors}
    polls = [["GET", f"{PREFIX}/books/{book}/generation-status/", token(owner), None, None] for book, owner in watched]
    texts = [json.dumps({"title": "New title", "content": prose(drawn, CHAPTER_WORDS)}) for _ in range(2)]
    saves = [["PATCH", f"{PREFIX}/chapters/{row['id']}/", tokens[row["account_id"]], text, None]
             for text in texts for row in saved]  # fmt: skip
    reads = [["GET", f"{PREFIX}/books/{book}/", tokens[owner], None, None] for owner, book in read.items()]
    lists = [["GET", f"{PREFIX}/books/", tokens[author], None, None] for author in authors]
    return Requests(
        hello=write(folder, "hello", [["GET", "/hello", None, None, None]]),
        resident=write(folder, "resident", polls[:polled]),
        elsewhere=write(folder, "elsewhere", polls[polled:]),
        listing=write(folder, "list", lists),
        book=write(folder, "book", reads),
        save=write(folder, "save", saves),
        books=list(read.values()),
    )


def write(folder: Path, name: str, requests: list[list[str | None]]) -> Path:
    """Write a file of requests: method, path, then token, body and ETag, each of which may be null."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(requests))
    return path


def read(path: Path) -> list[list[str | None]]:
    """Read the requests of such a file."""
    requests: list[list[str | None]] = json.loads(path.read_text())
    return requests


async def _books(
    connection: asyncpg.Connection, drawn: random.Random, owners: list[int], status: str
) -> list[tuple[int, int]]:
    rows = await connection.fetch(BOOKS, owners, prose(drawn, 40), CHAPTERS, CHAPTER_WORDS, status)
    return [(row["id"], row["account_id"]) for row in rows]


async def _chapters(connection: asyncpg.Connection, drawn: random.Random, book: int, written: int, words: int) -> None:
    contents = [prose(drawn, words) if number < written else "" for number in range(CHAPTERS)]
    counts = [CHAPTER_WORDS if content else 0 for content in contents]
    numbers = list(range(1, CHAPTERS + 1))
    await connection.execute(CHAPTER_ROWS, [book] * CHAPTERS, numbers, contents, counts, CHAPTER_WORDS)


async def long_book(dsn: str, words: int) -> tuple[int, int]:
    """Create a finished book of this many words. Returns it and its account, which has no other book."""
    connection, drawn = await asyncpg.connect(dsn), random.Random(2)
    owner = await connection.fetchval(LATER_ACCOUNTS, "long", 1, None)
    [(book, _)] = await _books(connection, drawn, [owner], "completed")
    await _chapters(connection, drawn, book, CHAPTERS, words // CHAPTERS)
    await connection.close()
    return book, owner


async def with_password(dsn: str, password_hash: str, count: int) -> list[str]:
    """Create this many accounts with the same password. Returns their usernames."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(LATER_ACCOUNTS, "login", count, password_hash)
    await connection.close()
    return [f"login{number}" for number in range(1, count + 1)]


async def _copy_for_peers(connection: asyncpg.Connection, dsn: str) -> None:
    peers = await asyncpg.connect(dsn)
    await peers.set_type_codec(  # the binary format of COPY: a version, then the text
        "jsonb",
        encoder=lambda text: b"\x01" + text.encode(),
        decoder=lambda data: data[1:],
        schema="pg_catalog",
        format="binary",
    )
    await peers.execute(common.TABLES)
    tables = (("books", PEER_BOOKS), ("chapters", PEER_CHAPTERS), ("generation_progress", PEER_PROGRESS))
    for table, query in tables:
        await peers.copy_records_to_table(table, records=[tuple(row) for row in await connection.fetch(query)])
    await peers.execute("VACUUM ANALYZE")
    await peers.close()


def prose(drawn: random.Random, words: int) -> str:
    """Sentences and paragraphs in an invented language, with the word frequencies of a real one."""
    text = []
    for number in range(words):
        word = _WORDS[min(int(drawn.paretovariate(0.2)) - 1, len(_WORDS) - 1)]
        text.append(word + ("." if number % 13 == 12 else "") + ("\n\n" if number % 91 == 90 else ""))
    return " ".join(text)


def _vocabulary() -> list[str]:
    drawn = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    return ["".join(drawn.choice(letters[: 8 + drawn.randrange(18)]) for _ in range(drawn.randint(2, 9)))
            for _ in range(6000)]  # fmt: skip


_WORDS = _vocabulary()


async def silent_model() -> asyncio.Server:
    """A model server that accepts every call and never answers."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()

    return await asyncio.start_server(listen, "127.0.0.1", 0)
