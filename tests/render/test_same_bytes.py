"""The same book gives the same bytes in any process at any time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import hashlib
from bench.render import corpus
from bookgen.models import SourceType
from bookgen.render.job import Job
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
book, chapters = corpus.book(corpus.Corpus("same", chapters=2, words=4_000, rich=True))
for kind in ("pdf", "docx", "epub", "pages"):
    job = Job(kind, book, chapters, "A. Author", ExportSettings(), watermark=True, source=SourceType.MODEL)
    print(kind, job.digest, hashlib.sha256(perform(job)).hexdigest())
"""


def test_files_do_not_depend_on_hash_seeds_or_time_zones() -> None:
    first = made(seed="1", zone="America/New_York")
    second = made(seed="2", zone="Asia/Tokyo")

    assert len(first.splitlines()) == 4
    assert first == second


def made(*, seed: str, zone: str) -> str:
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout
