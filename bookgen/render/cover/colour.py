"""Colours as red, green and blue from 0 to 255, and the contrast between them."""

from __future__ import annotations

Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
BLACK: Colour = (14, 14, 16)  # ink; pure black looks like a hole next to a palette

TITLE_CONTRAST = 7.0
CONTRAST = 4.5


def colour(code: str) -> Colour:
    """Parse a colour written as `#rrggbb`."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """A mix of two colours. `share`: how much of the second, from 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def luminance(of: Colour) -> float:
    """Relative luminance as defined by WCAG 2, from 0 to 1."""
    red, green, blue = (
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in (each / 255 for each in of)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: Colour, second: Colour) -> float:
    """The contrast ratio as defined by WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def readable(wanted: Colour, ground: Colour, least: float) -> Colour:
    """The wanted colour, moved towards black or white until it is readable.

    Its contrast with the background `ground` is then at least `least`.
    """
    toward = max((WHITE, BLACK), key=lambda end: contrast(end, ground))
    shades = (mix(wanted, toward, step / 20) for step in range(21))
    return next((shade for shade in shades if contrast(shade, ground) >= least), toward)
