"""The long judgement of `make contract`: a real `bookgen serve`, every operation, every check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
CONFIG = Path(__file__).with_name("schemathesis.toml")
UNLIMITED = {f"BOOKGEN_RATE_{name}": "100000000/second" for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}


def main(examples: str = "300") -> int:
    with tempfile.TemporaryDirectory(prefix="bookgen-judge-") as folder:
        settings = {**os.environ, **UNLIMITED, "BOOKGEN_DATA_DIR": folder, "BOOKGEN_PORT": "0"}
        log = Path(folder, "log")
        with log.open("wb") as errors:
            server = subprocess.Popen(
                [sys.executable, "-m", "bookgen", "serve"],
                env=settings,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            assert server.stdout is not None
            base = next(word for word in server.stdout.readline().split() if word.startswith("http")) + "/api/v1"
            verdict = judge(base, sign_in(base), examples)
        finally:
            server.terminate()
            server.wait()
        failures = [line for line in log.read_text().splitlines() if '"status":500' in line]
        print(f"{len(failures)} answers of 500", *failures[:5], sep="\n")
        return verdict or bool(failures)


def sign_in(base: str) -> str:
    """The token of an account that has a written book."""
    form = {"username": "ada", "email": "ada@example.com", "password": "correct horse battery"}
    token = call(base, "/auth/register/", form)["tokens"]["access"]
    book = call(base, "/books/", {"title": "Seed", "chapter_count": 2, "target_word_count": 400}, token)["id"]
    call(base, f"/books/{book}/generate-outline/", {}, token)
    call(base, f"/books/{book}/generate/", {}, token)
    return str(token)


def call(base: str, path: str, body: dict[str, Any], token: str = "") -> Any:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(urllib.request.Request(base + path, json.dumps(body).encode(), headers)) as reply:
        return json.load(reply)


def judge(base: str, token: str, examples: str) -> int:
    return subprocess.run(
        [
            BIN / "schemathesis", "--config-file", CONFIG, "run", f"{base}/schema/",
            "--header", f"Authorization: Bearer {token}", "--checks", "all", "--max-examples", examples,
            # A book that exists may never have had a run: then the contract answers 404 to who reads or steers it.
            "--exclude-checks", "ensure_resource_availability",
            "--generation-database", "none", "--continue-on-failure",
        ],
    ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
