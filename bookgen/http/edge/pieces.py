"""Large answers: read from the database and sent a piece at a time, so that none is ever whole in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b

from aiohttp import web

from bookgen.errors import PayloadTooLarge, RateLimited

LARGE = 1 << 20  # bytes; what is smaller is sent whole
PIECE = 256 << 10
MAX_RESPONSE_BYTES = 512 << 20
# Of answers that an account has asked for and not taken yet.
MAX_ACCOUNT_BYTES = 64 << 20
MAX_PIECE_BYTES = 4 << 20  # one chapter, in bytes of UTF-8


class InPieces(web.Response):
    """JSON that is made while it is sent; `tag` names its content before it is made."""

    __slots__ = ("tag",)

    def __init__(self, tag: str, pieces: AsyncIterator[bytes], *, status: int = 200) -> None:
        super().__init__(body=pieces, status=status, headers={"Content-Type": "application/json"})
        self.tag = tag


def tag_of(version: bytes) -> str:
    """The tag of an answer whose content `version` tells from every other."""
    return f'"{blake2b(version, digest_size=16).hexdigest()}"'


def batches(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Ids in their order, a piece's worth at a time; `sizes` has the bytes that each brings."""
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
    """Refuses an answer that is larger than one may be. PayloadTooLarge."""
    if size > MAX_RESPONSE_BYTES:
        raise PayloadTooLarge(
            f"The response would exceed {MAX_RESPONSE_BYTES >> 20} MiB. Read the books one by one (GET /books/{{id}}/)."
        )


class Outgoing:
    """How many bytes of answers wait for each account to take them."""

    def __init__(self) -> None:
        self._of_account: Counter[int] = Counter()

    def require_room(self, account_id: int) -> None:
        """Refuses a caller who does not take what was sent before. RateLimited."""
        if self._of_account[account_id] >= MAX_ACCOUNT_BYTES:
            raise RateLimited(
                "Earlier responses to you are still being sent. Read them first, then try again.",
                retry_after=5,
                scope="answers",
            )

    @contextmanager
    def sending(self, account_id: int, size: int) -> Iterator[None]:
        """Counts an answer of so many bytes until it has been taken."""
        self._of_account[account_id] += size
        try:
            yield
        finally:
            self._of_account[account_id] -= size
            if not self._of_account[account_id]:
                del self._of_account[account_id]
