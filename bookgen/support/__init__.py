"""The support assistant, which answers questions of users about the service."""
