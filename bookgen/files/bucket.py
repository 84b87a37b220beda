"""Files in a bucket of Amazon S3, or of a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, cast

import obstore
from obstore import exceptions
from obstore.store import S3Store

from bookgen.errors import FilesUnavailable
from bookgen.files.place import BUCKET, BucketAccess, FileMissing, FilePlace, FilesRefused

if TYPE_CHECKING:
    from obstore.store import S3Config

T = TypeVar("T")

CONNECT_SECONDS, CALL_SECONDS = 5, 60
TRIES_AGAIN, TRY_SECONDS = 4, 30  # retries of a call; none starts later than TRY_SECONDS


class Bucket(FilePlace):
    def __init__(self, address: str, access: BucketAccess) -> None:
        """`address`: `s3://bucket/prefix`."""
        super().__init__(address)
        bucket, _, prefix = address.removeprefix(BUCKET).partition("/")
        self._store = S3Store(
            bucket,
            config=_chosen(access),
            prefix=prefix or None,
            client_options={
                "allow_http": access.endpoint.startswith("http://"),
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "timeout": timedelta(seconds=CALL_SECONDS),
            },
            disable_bulk_delete=True,  # not every server supports it
            retry_config={"max_retries": TRIES_AGAIN, "retry_timeout": timedelta(seconds=TRY_SECONDS)},
        )

    async def prepare(self) -> None:
        """Do nothing: the operator creates the bucket."""

    async def put(self, name: str, data: bytes) -> None:
        # In one request: an interrupted multipart upload would leave parts behind, which cost money.
        await self._translated(obstore.put_async(self._store, name, data, use_multipart=False))

    async def get(self, name: str) -> bytes:
        try:
            found = await self._translated(obstore.get_async(self._store, name))
            return bytes(await self._translated(found.bytes_async()))
        except FileNotFoundError:
            raise FileMissing from None

    async def delete(self, name: str) -> None:
        try:
            await self._translated(obstore.delete_async(self._store, name))
        except FileNotFoundError:
            return

    async def _translated(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise FilesRefused(f"The bucket of {self.address} does not exist.") from error
            raise
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise FilesRefused(f"{self.address} refuses this server: {_first_line(error)}") from error
        except exceptions.BaseError as error:
            raise FilesUnavailable(f"{self.address} can't be used: {_first_line(error)}") from error


def _chosen(access: BucketAccess) -> S3Config:
    """The configuration of the S3 client, without the settings that are empty."""
    given: S3Config = {
        "endpoint": access.endpoint,
        "region": access.region,
        "access_key_id": access.key_id,
        "secret_access_key": access.secret,
        "session_token": access.session_token,
    }
    return cast("S3Config", {name: value for name, value in given.items() if value})


def _first_line(error: Exception) -> str:
    """The library's error message, without the debug output that follows it."""
    return " ".join((str(error).splitlines() or [type(error).__name__])[0].split())
