"""The Python client of the API."""

from bookgen.client.books import BookHandle, Books, WritingEnded
from bookgen.client.client import Client
from bookgen.client.errors import ApiError
from bookgen.client.sync import SyncBook, SyncClient

__all__ = ["ApiError", "BookHandle", "Books", "Client", "SyncBook", "SyncClient", "WritingEnded"]
