"""What is asked for when a cover or a picture is made, and what comes back: the data that crosses to a worker."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.render.model import Picture


@dataclass(frozen=True, slots=True)
class Copy:
    """What a cover says. `language` is a BCP 47 tag; an empty subtitle or author is left out.

    Without a title nothing is said: the sheet is a picture.
    """

    title: str
    subtitle: str
    author: str
    language: str


@dataclass(frozen=True, slots=True)
class CoverJob:
    """`seed` is the book's, `variant` counts its covers, `style` may name a family of designs.

    `picture`: a file from outside that the texts go over, instead of a design of ours.
    """

    copy: Copy
    seed: str
    genre: str
    variant: int
    style: str = ""
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class CoverDesign:
    """What a cover was drawn from here: in any other size it is drawn anew. `family` is its name."""

    copy: Copy
    seed: str
    family: str
    variant: int


@dataclass(frozen=True, slots=True)
class FinishedCover:
    picture: Picture
    thumbnail: Picture
    style: str


@dataclass(frozen=True, slots=True)
class PictureJob:
    """A picture within a chapter, drawn here."""

    seed: str
    genre: str
    variant: int


@dataclass(frozen=True, slots=True)
class ReceivedJob:
    """A picture from outside, as the file that came."""

    file: bytes


@dataclass(frozen=True, slots=True)
class FinishedPicture:
    """`shows` says what one drawn here is of."""

    picture: Picture
    shows: str = ""
