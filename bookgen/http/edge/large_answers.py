"""Large responses, read from the database and sent in pieces, so that the whole response is never in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b

from aiohttp import web

from bookgen.errors import PayloadTooLarge, RateLimited

LARGE = 1 << 20  # bytes; smaller answers are sent as a whole
PIECE = 256 << 10
MAX_RESPONSE_BYTES = 512 << 20
# The limit on all answers together that an account has requested and not read yet.
MAX_ACCOUNT_BYTES = 64 << 20
MAX_PIECE_BYTES = 4 << 20  # one chapter, in bytes of UTF-8


class InPieces(web.Response):
    """A JSON response that is encoded while it is sent. `tag`: the ETag, which is known in advance."""

    __slots__ = ("tag",)

    def __init__(self, tag: str, pieces: AsyncIterator[bytes], *, status: int = 200) -> None:
        super().__init__(body=pieces, status=status, headers={"Content-Type": "application/json"})
        self.tag = tag


def tag_of(version: bytes) -> str:
    """The ETag of a response whose content is identified by `version`."""
    return f'"{blake2b(version, digest_size=16).hexdigest()}"'


def batches(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """The ids in order, in batches of at most PIECE bytes. A larger item is a batch of its own.

    `sizes`: pairs of an item's id and its size in bytes.
    """
    batch: list[int] = []
    held = 0
    for number, size in sizes:
        if batch and held + size > PIECE:
            yield batch
            batch, held = [], 0
        batch.append(number)
        held += size
    if batch:
        yield batch


def require_sendable(size: int) -> None:
    """Raise PayloadTooLarge if a response of this many bytes is larger than MAX_RESPONSE_BYTES."""
    if size > MAX_RESPONSE_BYTES:
        raise PayloadTooLarge(
            f"The response would exceed {MAX_RESPONSE_BYTES >> 20} MiB. Read the books one by one (GET /books/{{id}}/)."
        )


class Outgoing:
    """Counts, for each account, the bytes of responses that the account has not read yet."""

    def __init__(self) -> None:
        self._of_account: Counter[int] = Counter()

    def require_room(self, account_id: int) -> None:
        """Raise RateLimited while the account has MAX_ACCOUNT_BYTES or more of earlier responses still to read."""
        if self._of_account[account_id] >= MAX_ACCOUNT_BYTES:
            raise RateLimited(
                "Earlier responses to you are still being sent. Read them first, then try again.",
                retry_after=5,
                scope="answers",
            )

    @contextmanager
    def sending(self, account_id: int, size: int) -> Iterator[None]:
        """A context in which a response of this many bytes counts as unread."""
        self._of_account[account_id] += size
        try:
            yield
        finally:
            self._of_account[account_id] -= size
            if not self._of_account[account_id]:
                del self._of_account[account_id]
