"""Colours that go together, chosen by hand."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.render.cover.colour import Colour, colour, luminance


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a cover. `ink` is readable on `ground`. The accents go from the strongest to the quietest."""

    name: str
    ground: Colour
    ink: Colour
    accents: tuple[Colour, Colour, Colour, Colour]

    @property
    def dark(self) -> bool:
        return luminance(self.ground) < 0.18


def _palette(name: str, ground: str, ink: str, *accents: str) -> Palette:
    first, second, third, fourth = map(colour, accents)
    return Palette(name, colour(ground), colour(ink), (first, second, third, fourth))


DARK = (
    _palette("midnight", "#14213d", "#f5efe0", "#e5a13a", "#c8553d", "#5b8e9e", "#2a3d66"),
    _palette("pine", "#12312b", "#f3ead3", "#d7a94b", "#b4492f", "#6f9f86", "#23503f"),
    _palette("plum", "#2b1836", "#f6e9ee", "#e98a74", "#c2517d", "#7c6aa8", "#4a2a5e"),
    _palette("oxblood", "#3d1016", "#f7e8d8", "#e2a55c", "#c4513f", "#8c6a5c", "#62222a"),
    _palette("graphite", "#16181d", "#f2f0ea", "#e6492e", "#f0b323", "#6d8a9c", "#30343d"),
    _palette("ocean", "#06303f", "#eef5ee", "#f2b04c", "#e4694b", "#4aa5a5", "#0f4b5e"),
    _palette("cobalt", "#152a7a", "#f7f3e6", "#f5c542", "#f0715a", "#7fb2e5", "#2746a8"),
)
LIGHT = (
    _palette("paper", "#f4eee1", "#1d1b1a", "#d1442f", "#1f4e5f", "#e0a030", "#8fae9b"),
    _palette("sand", "#ecdcc0", "#2a211c", "#b4512f", "#2f5d62", "#d99a3c", "#98a57f"),
    _palette("mist", "#e3e8e6", "#17252a", "#d9583f", "#2b6777", "#f0b74e", "#8fb3b0"),
    _palette("blush", "#f4ddd4", "#2b1a20", "#b23a48", "#2d4654", "#e79a5f", "#a98aa0"),
    _palette("lemon", "#f6dd6b", "#1c1b1a", "#dd3f2e", "#1d4e89", "#2c8c6b", "#fbf3d0"),
    _palette("sky", "#cfe3ea", "#14202b", "#d94f35", "#1f5673", "#f2b134", "#7aa093"),
    _palette("mustard", "#e3a92b", "#1b1a17", "#8c2f1b", "#1e4a5a", "#f6ecd2", "#b97f12"),
)
