"""A cover in the terminal: drawn if the terminal supports it, otherwise named."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import tty
from pathlib import Path

import pytest
from PIL import Image

SHOW = """
import sys
from pathlib import Path
from bookgen.commands.write_output import Terminal
Terminal().picture(Path(sys.argv[1]))
print("over")
"""
# Terminals' answers to the query for their attributes. One that draws sixels includes 4.
SIXELS, PLAIN = b"\x1b[?62;4;22c", b"\x1b[?62;22c"


def said_by_the_program(picture: Path, answer: bytes) -> bytes:
    """The program's output to a terminal of 80 by 40 characters, whose answer is there before the query."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", 40, 80, 800, 800))
    tty.setraw(its)
    os.write(mine, answer)
    said = bytearray()

    def listen() -> None:
        while chunk := _read(mine):
            said.extend(chunk)

    terminal = threading.Thread(target=listen)
    terminal.start()
    program = subprocess.run(
        [sys.executable, "-c", SHOW, str(picture)], stdin=its, stdout=its, stderr=subprocess.PIPE, timeout=60
    )
    os.close(its)
    terminal.join()
    os.close(mine)
    assert program.returncode == 0, program.stderr.decode()
    return bytes(said)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the program has exited
        return b""


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "cover.jpg"
    Image.new("RGB", (160, 256), "#224466").save(path)
    return path


def test_a_terminal_with_sixel_support_shows_the_picture(picture: Path) -> None:
    said = said_by_the_program(picture, SIXELS)

    assert b"\x1bP" in said
    assert b"over" in said


def test_a_terminal_without_picture_support_gets_no_picture(picture: Path) -> None:
    said = said_by_the_program(picture, PLAIN)

    assert b"\x1bP" not in said
    assert said.rstrip().endswith(b"over")


def test_the_terminal_is_not_queried_if_the_output_is_not_a_terminal(picture: Path) -> None:
    program = subprocess.run(
        [sys.executable, "-c", SHOW, str(picture)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert program.stdout == b"over\n"
