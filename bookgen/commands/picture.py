"""Shows a picture in the terminal, by kitty's protocol or as sixels (iTerm, foot and others)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.console import Console

LINES = 24  # maximum height


def show(console: Console, path: Path) -> bool:
    """Show the picture if the terminal can show pictures, and return whether it can.

    The first call asks the terminal, which takes a fraction of a second.
    """
    if not (console.is_terminal and sys.stdin.isatty() and os.get_terminal_size(sys.stdin.fileno()).columns):
        return False
    from textual_image.renderable import Image, SixelImage, TGPImage  # asks the terminal

    if Image not in (SixelImage, TGPImage):
        return False
    console.print(Image(path, height=min(LINES, max(1, console.height - 4))))
    return True
