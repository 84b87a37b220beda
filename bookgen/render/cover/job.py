"""The requests for covers and pictures that go to a worker, and the results that come back."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.cover_options import CoverIdea
from bookgen.render.model import Picture


@dataclass(frozen=True, slots=True)
class Copy:
    """The text on a cover. `language` is a BCP 47 tag. An empty subtitle or author is left out.

    With an empty title there is no text at all: the sheet is a picture.
    """

    title: str
    subtitle: str
    author: str
    language: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What the book is about, as far as a drawn cover shows it.

    `palettes`, `motif` and `mood` are names from the module `cover_options`, or empty. For a picture book, `figures`
    are descriptions "name: look", the hero first, and `told` is a text about the place of the story.
    """

    palettes: tuple[str, ...] = ()
    motif: str = ""
    mood: str = ""
    figures: tuple[str, ...] = ()
    told: str = ""

    @classmethod
    def of(cls, idea: CoverIdea) -> Subject:
        return cls(idea.palettes, idea.motif, idea.mood)


UNKNOWN = Subject()


@dataclass(frozen=True, slots=True)
class CoverJob:
    """A request for a cover. `seed` is derived from the book, and `variant` numbers the book's covers.

    `style` may name a design family. `picture`: an image file to put the text on, instead of a drawn design. `family`:
    the design family chosen for the book, used unless `style` names one. If neither names a family, a family that is
    not in `avoided` is chosen at random.
    """

    copy: Copy
    seed: str
    genre: str
    variant: int
    style: str = ""
    picture: bytes | None = None
    family: str = ""
    avoided: tuple[str, ...] = ()
    subject: Subject = UNKNOWN


@dataclass(frozen=True, slots=True)
class CoverDesign:
    """The parameters of a drawn cover, from which it can be drawn again in any size. `family` is the family's name."""

    copy: Copy
    seed: str
    family: str
    variant: int
    subject: Subject = UNKNOWN


@dataclass(frozen=True, slots=True)
class FinishedCover:
    picture: Picture
    thumbnail: Picture
    style: str


@dataclass(frozen=True, slots=True)
class PictureJob:
    """A request to draw a picture within a chapter."""

    seed: str
    genre: str
    variant: int


@dataclass(frozen=True, slots=True)
class ReceivedJob:
    """A request to check and convert an image file that an image service made."""

    file: bytes


@dataclass(frozen=True, slots=True)
class FinishedPicture:
    """A finished picture. `shows` describes the picture if it was drawn for a `PictureJob`, and is empty otherwise."""

    picture: Picture
    shows: str = ""
