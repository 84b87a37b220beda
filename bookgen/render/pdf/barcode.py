"""An ISBN as an EAN-13 barcode, in black only, at its nominal size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reportlab.graphics.barcode.eanbc import Ean13BarcodeWidget


class Barcode:
    """A barcode. Lengths are in points from its lower left corner, including the quiet zones."""

    def __init__(self, isbn: str) -> None:
        """`isbn`: a valid ISBN-10 or ISBN-13, with or without hyphens."""
        digits = "".join(each for each in isbn if each.isdigit() or each in "xX")
        symbol: Any = Ean13BarcodeWidget(digits[:12] if len(digits) == 13 else f"978{digits[:9]}")
        self._parts = symbol.draw().contents
        self.width, self.height = self._parts[0].width, self._parts[0].height
        self.size: float = symbol.fontSize

    def bars(self) -> Iterator[Any]:
        """The bars, each with `x`, `y`, `width` and `height`."""
        _, *parts = self._parts  # the first part is the background
        return (part for part in parts if hasattr(part, "width"))

    def digits(self) -> Iterator[Any]:
        """The printed digits in three groups: one digit, then twice six. Each has its `text` and its baseline `y`.

        `x` is the left edge of the single digit, but the centre of the other two groups.
        """
        return (part for part in self._parts if hasattr(part, "text"))
