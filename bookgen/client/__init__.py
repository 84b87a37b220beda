"""The Python client of the API."""

from bookgen.client.client import Client
from bookgen.client.errors import ApiError

__all__ = ["ApiError", "Client"]
