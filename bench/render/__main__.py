"""python -m bench.render: export the same book with ours and with the peers that this machine has, interleaved.

    pip install -r bench/requirements.txt      # peers; pandoc from the system; poppler-utils for the typographic part
    python -m bench.render --corpus novel --runs 3

Each row is a separate process, from its start to the finished file. Each one runs once unmeasured first, to compile
byte code and fill the disk cache. Prints the minimum of wall time and CPU time and the peak memory, our share of each
peer's, and the typographic quality of the PDFs.

DOCX and EPUB contain the page numbers of the printed book. The service takes them from the layout that it keeps for all
formats. The rows "with layout" are a process that has to lay the book out first. pandoc's files have no page numbers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from bench.render.metrics import measure

CORPORA = ("novel", "dialogue", "rich")


@dataclass
class Timing:
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)


def main() -> None:
    asked = _arguments()
    folder = Path(asked.out or tempfile.mkdtemp(prefix="bench-render-"))
    folder.mkdir(parents=True, exist_ok=True)
    # In a separate process, because a child's peak memory starts at its parent's.
    subprocess.run([sys.executable, "-m", "bench.render.prepare", asked.corpus, str(folder)], check=True)
    tools = _tools(folder)
    timings = {name: Timing() for name in tools}
    for command in tools.values():
        _run(command, Timing())
    for _ in range(asked.runs):
        for name, command in tools.items():
            _run(command, timings[name])
    _print_times(timings)
    _print_typography(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=CORPORA, default="novel")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", help="keep the files in this folder")
    return parser.parse_args()


def _tools(folder: Path) -> dict[str, list[str]]:
    """The commands that this machine can run; ours is the first of each format."""
    ours = [sys.executable, "-m", "bench.render.ours"]
    peer = [sys.executable, "-m", "bench.render.peers"]
    tools = {f"pdf   {each}": [*ours, "pdf", str(folder), *flags] for each, flags in OURS.items()}
    for module, label in (("typst", "typst"), ("weasyprint", "weasyprint"), ("reportlab", "platypus multiBuild")):
        if find_spec(module):
            tools[f"pdf   {label}"] = [*peer, module, str(folder)]
    for kind in ("docx", "epub"):
        tools[f"{kind}  bookgen"] = [*ours, kind, str(folder)]
        tools[f"{kind}  bookgen with layout"] = [*ours, kind, str(folder), "layout"]
        if shutil.which("pandoc"):
            tools[f"{kind}  pandoc"] = [
                "pandoc",
                str(folder / "book.md"),
                "--toc",
                "-o",
                str(folder / f"pandoc.{kind}"),
            ]
    return tools


# The maximum of our CPU time as a share of the peer's, for the novel.
BARS = {
    "pdf   typst": 0.6,
    "pdf   weasyprint": 0.15,
    "pdf   platypus multiBuild": 0.7,
    "docx  pandoc": 0.4,
    "epub  pandoc": 0.25,
}
OURS = {"bookgen print": ["print"], "bookgen digital": ["digital"]}


def _run(command: list[str], timing: Timing) -> None:
    started = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert process.stderr is not None
    complaint = process.stderr.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{complaint}")
    timing.wall.append(time.perf_counter() - started)
    timing.cpu.append(used.ru_utime + used.ru_stime)
    timing.memory.append(used.ru_maxrss // 1024)


def _print_times(timings: dict[str, Timing]) -> None:
    """Print each peer with the ratios of our rows to it."""
    print(f"{'':26}{'wall s':>8}{'cpu s':>8}{'MB':>7}  ours / it: cpu, memory")
    for name, timing in timings.items():
        print(f"{name:26}{min(timing.wall):8.2f}{min(timing.cpu):8.2f}{max(timing.memory):7d}", end="")
        for other, ours in timings.items() if "bookgen" not in name else ():
            if other.split()[0] == name.split()[0] and "bookgen" in other:
                cpu, memory = min(ours.cpu) / min(timing.cpu), max(ours.memory) / max(timing.memory)
                print(f"  {other.partition('bookgen')[2].strip() or 'bookgen'} {cpu:.2f}, {memory:.2f}", end="")
        print(f"  (cpu at most {BARS[name]})" if name in BARS else "")


def _print_typography(folder: Path) -> None:
    if not shutil.which("pdftotext"):
        return
    print()
    for index, file in enumerate(sorted(folder.glob("*.pdf"))):
        row = measure(file)
        if index == 0:
            print(f"{'':20}" + "".join(f"{name:>14}" for name in row))
        print(f"{file.stem:20}" + "".join(f"{value:>14}" for value in row.values()))


if __name__ == "__main__":
    main()
