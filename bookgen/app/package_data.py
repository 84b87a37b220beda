"""The folders that lie beside the package: the migrations and the documentation."""

from pathlib import Path


def migrations() -> Path:
    """The folder of the SQL migrations."""
    return _beside("sql")


def documents() -> Path:
    """The folder of the user documentation."""
    return _beside("docs")


def _beside(name: str) -> Path:
    """A folder next to the package in a checkout. In a wheel it is inside the package, with an underscore."""
    package = Path(__file__).parent.parent
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent / name
