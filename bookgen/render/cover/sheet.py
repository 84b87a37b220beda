"""The sheet that a design family composes on: drawing, colours, random generator, and placing of the texts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.render.cover.breaking import spaced
from bookgen.render.cover.colour import CONTRAST, TITLE_CONTRAST, Colour, contrast, readable
from bookgen.render.cover.drawing import Box, Drawing, Lettering
from bookgen.render.cover.faces import NARROW, DisplayFace
from bookgen.render.cover.job import UNKNOWN, Copy, Subject
from bookgen.render.cover.lettering import SetText, Typesetter
from bookgen.render.cover.palettes import Palette
from bookgen.render.layout.bidi import is_rtl

# Shares of the sheet's width.
MIN_CAPITAL_HEIGHT = 0.06  # of a title; a little more than 9 pixels in a thumbnail of 160
_LARGEST_TITLE = 0.22
_SUBTITLE, _AUTHOR = 0.043, 0.052
_MIN_SMALL_TEXT = 0.02
_SMALL_SCALE = 0.5  # the factor for subtitle and author next to a very long title
_GAP = 0.04

# Shares of the sheet's height tried for the title, in this order, until it is large enough.
_TITLE_SHARES = (0.5, 0.62, 0.8, 1.0)
_MIN_FIGURE = 0.15  # of the sheet's height; a smaller design is lost next to the title


@dataclass(frozen=True, slots=True)
class Typography:
    title: DisplayFace
    subtitle: DisplayFace
    author: DisplayFace


@dataclass(frozen=True, slots=True)
class Texts:
    """A cover's texts at their sizes."""

    title: SetText
    subtitle: SetText | None
    author: SetText | None
    gap: float

    @property
    def head(self) -> float:
        """The height of the title and subtitle together."""
        return self.title.height + (self.gap + self.subtitle.height if self.subtitle else 0.0)

    @property
    def height(self) -> float:
        """The height of all texts below one another."""
        return self.head + (self.gap * 2 + self.author.height if self.author else 0.0)


@dataclass(frozen=True, slots=True)
class PlacedTexts:
    """A cover's texts and their places on the sheet.

    `texts` is None if there is no title. `free`: the part of the sheet between the texts, in full width.
    """

    texts: Texts | None
    head_top: float
    head_bottom: float
    author_top: float
    x: float
    align: float
    free: Box


class Sheet:
    """A sheet to compose a cover on. `unit` is a hundredth of its width.

    `chance` is a random generator seeded by the book, so the same book gets the same cover. `variant` numbers the
    book's covers; a few families choose their arrangement by it. `typesetters` may be shared with other sheets of the
    same texts, to reuse their results.
    """

    def __init__(
        self,
        drawing: Drawing,
        copy: Copy,
        palette: Palette,
        typography: Typography,
        chance: random.Random,
        variant: int = 0,
        typesetters: dict[DisplayFace, Typesetter] | None = None,
        subject: Subject = UNKNOWN,
    ) -> None:
        self.drawing, self.copy, self.palette, self.subject = drawing, copy, palette, subject
        self.typography, self.chance, self.variant = typography, chance, variant
        self.unit = drawing.width / 100
        self._typesetters = {} if typesetters is None else typesetters
        self._free = drawing.height

    @property
    def page(self) -> Box:
        return self.drawing.page

    @property
    def rtl(self) -> bool:
        return is_rtl(self.copy.title)

    @property
    def title_crowds_design(self) -> bool:
        """Whether the title leaves no room for the design, or is too small to be read in a thumbnail."""
        title = next((each for each in self.drawing.letterings if each.role == "title"), None)
        small = title is not None and title.height < MIN_CAPITAL_HEIGHT * self.drawing.width
        return small or self._free < _MIN_FIGURE * self.drawing.height

    def texts(self, measure: float, height: float, share: float, largest: float = _LARGEST_TITLE) -> Texts:
        """Set the texts as large as they fit into the width `measure` and the `height`, both in pixels.

        The title gets `share` of the height. If it is then too small for a thumbnail, it gets more; if that is not
        enough, subtitle and author are made smaller. `largest`: the title's largest size, as a share of the sheet's
        width.
        """
        for small_scale in (1.0, _SMALL_SCALE):
            texts = self._texts(measure, height, share, largest, small_scale)
            if texts.title.capital >= MIN_CAPITAL_HEIGHT * self.drawing.width:
                break
        return texts

    def _texts(self, measure: float, height: float, share: float, largest: float, small_scale: float) -> Texts:
        """Set the texts as `Sheet.texts` does, with the sizes of subtitle and author multiplied by `small_scale`."""
        gap = self.drawing.width * _GAP * small_scale
        largest_subtitle, largest_author = _SUBTITLE * small_scale, _AUTHOR * small_scale
        subtitle = self._small_text(self.copy.subtitle, self.typography.subtitle, measure, height, largest_subtitle)
        author = self._small_text(self.copy.author, self.typography.author, measure, height, largest_author)
        room = height - sum(text.height + gap * 2 for text in (author, subtitle) if text)
        faces = (self.typography.title, NARROW) if spaced(self.copy.title) else (self.typography.title,)
        tries = itertools.product(_TITLE_SHARES, faces)
        for each, face in ((share, self.typography.title), *tries):
            title = self._title(face, measure, min(max(each, share) * height, room), largest)
            if title.capital >= MIN_CAPITAL_HEIGHT * self.drawing.width:
                break
        return Texts(title, subtitle, author, gap)

    def _title(self, face: DisplayFace, measure: float, height: float, largest: float) -> SetText:
        width = self.drawing.width
        least = MIN_CAPITAL_HEIGHT * width / 0.7
        return self._typesetter(face).fitted(self.copy.title, measure, height, largest * width, least)

    def _typesetter(self, face: DisplayFace) -> Typesetter:
        if face not in self._typesetters:
            self._typesetters[face] = Typesetter(face, self.copy.language)
        return self._typesetters[face]

    def _small_text(
        self, text: str, face: DisplayFace, measure: float, height: float, largest: float
    ) -> SetText | None:
        """Set the subtitle or the author, in several lines if one line would be too small. None if the text is empty.

        `measure` and `height`: the width and height for all texts, in pixels. `largest`: the largest size, as a share
        of the sheet's width.
        """
        if not text:
            return None
        width = self.drawing.width
        setter = self._typesetter(face)
        one_line = setter.fitted(text, measure, largest * width * 1.3, largest * width, _MIN_SMALL_TEXT * width)
        if one_line.size >= largest * width * 0.7:
            return one_line
        return setter.fitted(text, measure, height * 0.12, largest * width * 0.8, _MIN_SMALL_TEXT * width)

    def place(
        self,
        *,
        margin: float = 8.0,
        top: float = 8.0,
        foot: float = 7.0,
        align: float = 0.5,
        head: str = "top",
        author: str = "foot",
        share: float = 0.36,
        largest: float = _LARGEST_TITLE,
    ) -> PlacedTexts:
        """Place title and subtitle at the end `head` of the sheet, and the author at the end `author`: "top" or "foot".

        `share`: the title's share of the height. `largest`: its largest size as a share of the sheet's width. `margin`,
        `top` and `foot` are in hundredths of the sheet's width. `align`: 0 is the side where reading starts, 0.5 the
        middle, 1 the other side.
        """
        unit, page = self.unit, self.page
        if not self.copy.title:
            return PlacedTexts(None, 0.0, 0.0, page.bottom, 0.0, 0.0, page)
        zone = Box(margin * unit, top * unit, page.right - margin * unit, page.bottom - foot * unit)
        texts = self.texts(zone.width, zone.height, share, largest)
        side = 1.0 - align if self.rtl else align
        x = zone.left + zone.width * side
        tall = texts.author.height if texts.author else 0.0
        beside = tall + texts.gap * 1.6 if tall and author == head else 0.0
        author_top = zone.top if author == "top" else zone.bottom - tall
        apart = tall and author != head
        if head == "top":
            head_top = zone.top + beside
            free_top, free_bottom = head_top + texts.head, author_top if apart else page.bottom
        else:
            head_top = zone.bottom - beside - texts.head
            free_top, free_bottom = author_top + tall if apart else 0.0, head_top
        gap = texts.gap * 1.5
        free_top, free_bottom = free_top + gap * (free_top > 0), free_bottom - gap * (free_bottom < page.bottom)
        free = Box(0.0, free_top, page.right, free_bottom)
        self._free = free.height
        return PlacedTexts(texts, head_top, head_top + texts.head, author_top, x, side, free)

    def stack(self, zone: Box, share: float) -> PlacedTexts:
        """Place all texts below one another, centred in `zone`. `share`: the title's share of the height of `zone`."""
        texts = self.texts(zone.width, zone.height, share)
        top = zone.top + (zone.height - texts.height) / 2
        foot = top + texts.head
        return PlacedTexts(texts, top, foot, foot + texts.gap * 2, zone.center[0], 0.5, zone)

    def letter(
        self,
        placed: PlacedTexts,
        ground: Sequence[Colour] = (),
        *,
        title: Colour | None = None,
        subtitle: Colour | None = None,
        author: Colour | None = None,
        author_ground: Colour | None = None,
    ) -> None:
        """Draw the texts in these colours, adjusted where the contrast with the background would be too low.

        A text without a colour gets the palette's ink. `ground`: all colours that occur behind the texts, by default
        the palette's ground. `author_ground`: the colour behind the author, if it is different from `ground`.
        """
        grounds = tuple(ground) or (self.palette.ground,)
        ink, texts = self.palette.ink, placed.texts
        if texts is None:
            return
        self._draw("title", texts.title, placed, placed.head_top, title or ink, grounds, TITLE_CONTRAST)
        if texts.subtitle:
            top = placed.head_top + texts.title.height + texts.gap
            self._draw("subtitle", texts.subtitle, placed, top, subtitle or ink, grounds, CONTRAST)
        if texts.author:
            own = (author_ground,) if author_ground else grounds
            self._draw("author", texts.author, placed, placed.author_top, author or ink, own, CONTRAST)

    def _draw(
        self,
        role: str,
        text: SetText,
        placed: PlacedTexts,
        top: float,
        ink: Colour,
        grounds: Sequence[Colour],
        least: float,
    ) -> None:
        ink = readable(ink, min(grounds, key=lambda ground: contrast(ink, ground)), least)
        worst = min(grounds, key=lambda ground: contrast(ink, ground))
        path, box = text.placed(placed.x, top, placed.align)
        self.drawing.letterings.append(Lettering(role, path, box, ink, worst, text.capital, text.missing))
