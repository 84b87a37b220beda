"""bookgen: a self-hosted service that turns an idea into a finished book."""

__version__ = "0.13.0"
