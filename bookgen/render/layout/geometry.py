"""The geometry of the page: the text area, by trim size and type size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bookgen.render.settings import ExportSettings
from bookgen.render.trim import INCH, SAFE, TRIMS, Trim, inside_margin

_WIDEST = 36.0  # ems; longer lines are hard to read
_MARGINS = 1.4 * INCH  # inside and outside together, enough for the printer's widest inside margin
_MAX_INDENT_SHARE = 0.4  # of the line width; a verse line is indented no further
_ROUNDING = 0.005  # points
_SINGLE = 1.2  # the line height at line spacing 1.0, as a multiple of the type size


@dataclass(frozen=True, slots=True)
class Geometry:
    """The page's measures in points.

    `margins` is the inside plus the outside margin, the same for every page count. A thick book gets a larger inside
    margin and a smaller outside margin: the text moves sideways, and its lines need not be broken again.
    """

    trim: Trim
    size: float
    lead: float
    margins: float
    top: float  # from the trim down to the first baseline
    lines: int
    head: float  # from the trim down to the baseline of the running head
    folio: float  # from the trim up to the baseline of the folio
    small: float
    note_size: float
    note_lead: float
    inset: float  # of quotations and list items
    rest: float  # the part of the margins that is too narrow for a whole character

    @property
    def measure(self) -> float:
        return self.trim.width - self.margins

    @property
    def indent(self) -> float:
        return round(self.size * 1.5, 2)

    def verse_indent(self, ems: float) -> float:
        """The indent of a verse line in points."""
        return min(ems * self.size, self.measure * _MAX_INDENT_SHARE)

    def inside(self, pages: int) -> float:
        """The inside margin: half of the margins, or more if the printer requires it for this page count.

        The rest that is too narrow for a character belongs to the outside margin.
        """
        return min(self.margins - SAFE, max(inside_margin(pages), (self.margins - self.rest) / 2))

    def left(self, pages: int, *, recto: bool, rtl: bool = False) -> float:
        inside = self.inside(pages)
        return inside if recto != rtl else self.margins - inside

    def baseline(self, unit: float) -> float:
        """The y of the baseline of grid line `unit` (from 0), measured from the bottom of the page."""
        return self.trim.height - self.top - unit * self.lead

    @property
    def foot(self) -> float:
        return self.baseline(self.lines - 1)


def geometry(settings: ExportSettings, trim_name: str, *, leading: float = 1.0, ideographic: bool = False) -> Geometry:
    """The geometry of a book's pages. `leading`: a factor for the line spacing, which some languages need larger.

    `ideographic`: lines and insets are a whole number of characters wide, so that a full line is not stretched.
    """
    trim = TRIMS[trim_name]
    size = settings.font_size or trim.font_size
    single = _SINGLE * leading
    lead = round(size * single * settings.line_spacing, 2)
    margins = max(_MARGINS, trim.width - _WIDEST * size)
    rest = (trim.width - margins + _ROUNDING) % size if ideographic else 0.0
    small = max(7.0, round(size * 0.86, 2))
    head = SAFE + small
    folio = SAFE + small * 0.3
    above = head + lead * 1.35 if settings.running_heads else SAFE + lead
    below = folio + lead * 1.6 if settings.page_numbers else SAFE + lead * 0.3
    room = trim.height - above - size * 0.75 - below
    lines = max(8, math.floor(room / lead) + 1)
    slack = room - (lines - 1) * lead
    return Geometry(
        trim=trim,
        size=size,
        lead=lead,
        margins=round(margins + rest, 2),
        top=round(above + size * 0.75 + slack / 2, 2),
        lines=lines,
        head=head,
        folio=folio,
        small=small,
        note_size=max(7.0, round(size * 0.82, 2)),
        note_lead=round(max(7.0, size * 0.82) * single * 1.06, 2),
        inset=size * 2 if ideographic else round(size * 1.5, 2) * 1.2,
        rest=rest,
    )
