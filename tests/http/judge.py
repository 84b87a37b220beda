"""The long run of `make contract`: a real `bookgen serve`, every operation, every check, 20,000 requests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).with_name("schemathesis.toml")
# Not an example of the document: with the account's own password the example of `delete_account` would delete it.
PASSWORD = "7 pounds of unsold plums"
UNLIMITED = {f"BOOKGEN_RATE_{name}": "100000000/second" for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}
COUNTED = re.compile(r'^bookgen_http_requests_total{.*status="(\d+)".*} ([\d.e+]+)$', re.MULTILINE)


def main(least: str = "20000", examples: str = "250") -> int:
    with tempfile.TemporaryDirectory(prefix="bookgen-judge-") as folder:
        settings = {**os.environ, **UNLIMITED, "BOOKGEN_DATA_DIR": folder, "BOOKGEN_PORT": "0"}
        with Path(folder, "log").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "bookgen", "serve"], env=settings, stdout=subprocess.PIPE, stderr=log, text=True
            )
        try:
            assert server.stdout is not None
            root = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            token = sign_in(f"{root}/api/v1", settings)
            verdict = judge(f"{root}/api/v1/schema/", token, "--max-examples", examples, "--continue-on-failure")
            answers = count(root)
            is_signed_in = signed_in(f"{root}/api/v1", token)
        finally:
            server.terminate()
            server.wait()
        failed = {status: number for status, number in answers.items() if status >= 500}
        print(f"{answers.total()} requests sent, at least {least} asked")
        print(f"{sum(failed.values())} answers of 5xx", *sorted(failed))
        if failed:
            print(*re.findall(r'.*"request_failed".*', Path(folder, "log").read_text())[:5], sep="\n")
        if not is_signed_in:
            print("The token was refused in the end, so that many requests tested nothing.")
        return verdict or int(bool(failed) or answers.total() < int(least) or not is_signed_in)


def sign_in(base: str, settings: dict[str, str]) -> str:
    """The token of a staff account with a written book."""
    form = {"email": "ada@example.com", "password": PASSWORD}
    create = ["account", "create", form["email"], "--password", form["password"], "--staff"]
    subprocess.run([sys.executable, "-m", "bookgen", *create], env=settings, check=True)
    token = call(base, "/auth/login/", form)["tokens"]["access"]
    book = call(base, "/books/", {"title": "Seed", "chapter_count": 2, "target_word_count": 400}, token)["id"]
    call(base, f"/books/{book}/generate-outline/", {}, token)
    call(base, f"/books/{book}/generate/", {}, token)
    return str(token)


def signed_in(base: str, token: str) -> bool:
    """Whether the account is still there and its token still valid."""
    request = urllib.request.Request(f"{base}/auth/profile/", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError:
        return False


def call(base: str, path: str, body: dict[str, Any], token: str = "") -> Any:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(urllib.request.Request(base + path, json.dumps(body).encode(), headers)) as reply:
        return json.load(reply)


def command(document: str, token: str, *options: str) -> list[str]:
    """The schemathesis command with every check on. The short run of the tests uses other options."""
    return [
        str(BIN / "schemathesis"), "--config-file", str(CONFIG), "run", document,
        "--header", f"Authorization: Bearer {token}", "--checks", "all", "--generation-database", "none", *options,
    ]  # fmt: skip


def judge(document: str, token: str, *options: str) -> int:
    return subprocess.run(command(document, token, *options), cwd=ROOT).returncode


def count(root: str) -> Counter[int]:
    """The number of responses of each status, from the server's metrics."""
    with urllib.request.urlopen(f"{root}/metrics") as reply:
        counted = COUNTED.findall(reply.read().decode())
    answers: Counter[int] = Counter()
    for status, number in counted:
        answers[int(status)] += int(float(number))
    return answers


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
