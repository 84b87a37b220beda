"""Finds the folders of data that come with the package: the migrations and the documentation."""

from pathlib import Path


def migrations() -> Path:
    """The folder of the SQL migrations."""
    return _beside("sql")


def documents() -> Path:
    """The folder of the user documentation."""
    return _beside("docs")


def _beside(name: str) -> Path:
    """The folder `name`. In a checkout it is next to the package. In a wheel it is inside the package, as `_name`."""
    package = Path(__file__).parent.parent
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent / name
