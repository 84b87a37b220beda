"""The body face as four static files, for peers that cannot place a variable font."""

from __future__ import annotations

from pathlib import Path

from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from bookgen.render.fonts.families import SERIF

FAMILY = "Source Serif 4"
STYLES = {"R": (False, False), "I": (False, True), "B": (True, False), "BI": (True, True)}


def instances(folder: Path) -> None:
    """Create R.ttf, I.ttf, B.ttf and BI.ttf once."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (bold, italic) in STYLES.items():
        file = folder / f"{name}.ttf"
        if not file.exists():
            font = TTFont(SERIF.path(bold=bold, italic=italic))
            axes = SERIF.axes(bold=bold)
            instancer.instantiateVariableFont(font, axes, inplace=True)
            _rename(font, bold=bold, italic=italic)
            font.save(file)


def _rename(font: TTFont, *, bold: bool, italic: bool) -> None:
    """Rename the fonts to one family of four styles, with matching flags."""
    style = " ".join(["Bold"] * bold + ["Italic"] * italic) or "Regular"
    for identifier, name in ((1, FAMILY), (2, style), (4, f"{FAMILY} {style}"), (16, FAMILY), (17, style)):
        font["name"].setName(name, identifier, 3, 1, 0x409)
    font["OS/2"].usWeightClass = 700 if bold else 400
    font["OS/2"].fsSelection = (0x20 if bold else 0) | (0x01 if italic else 0) | (0x40 if style == "Regular" else 0)
    font["head"].macStyle = int(bold) | int(italic) << 1
