"""An ISBN as the bars that a shop reads: EAN-13 in black alone, at its nominal size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reportlab.graphics.barcode.eanbc import Ean13BarcodeWidget


class Barcode:
    """In points from the symbol's lower left corner, its quiet zones included."""

    def __init__(self, isbn: str) -> None:
        """`isbn` is a valid one of ten or thirteen digits, hyphens or not."""
        digits = "".join(each for each in isbn if each.isdigit() or each in "xX")
        symbol: Any = Ean13BarcodeWidget(digits[:12] if len(digits) == 13 else f"978{digits[:9]}")
        self._parts = symbol.draw().contents
        self.width, self.height = self._parts[0].width, self._parts[0].height
        self.size: float = symbol.fontSize

    def bars(self) -> Iterator[Any]:
        """Each with its `x`, `y`, `width` and `height`."""
        _, *parts = self._parts  # the ground
        return (part for part in parts if hasattr(part, "width"))

    def digits(self) -> Iterator[Any]:
        """Each `text` with its middle `x`, on the baseline `y`: one digit before the bars, two groups below them."""
        return (part for part in self._parts if hasattr(part, "text"))
