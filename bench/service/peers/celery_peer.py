"""Celery with its gevent pool and its own Redis: one chain per book, one task per call of the model server.

    python -m bench.service.peers.celery_peer MODEL_URL BOOKS CHAPTERS [number, words, ...]

Prints the seconds, the CPU seconds of the worker and of Redis, and the chapters. Redis keeps the replies and writes
nothing to disk, which favours Celery.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import urllib3
from celery import Celery, chain

from bench.service.machine import cpu_seconds, family
from bench.service.processes import free_port

REDIS = "CELERY_PEER_REDIS"
MAX_TASKS_AT_ONCE = 1_000
PREFETCH = 4  # with 1, the pool's loop sleeps up to two seconds between tasks
START_SECONDS = 60.0

app = Celery("bench", broker=os.environ.get(REDIS), backend=os.environ.get(REDIS))
app.conf.update(worker_prefetch_multiplier=PREFETCH, broker_connection_retry_on_startup=True, redis_max_connections=200)
_model = urllib3.PoolManager(maxsize=MAX_TASKS_AT_ONCE, timeout=3_600)


@app.task
def call(url: str) -> str:
    return _model.request("GET", url).data.decode()


def main() -> None:
    model, books, chapters, asked = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
    with redis_server() as redis, worker(books) as working:
        processes = [*family(working.pid), redis.pid]
        began, cpu = time.perf_counter(), cpu_seconds(processes)
        ends = [
            chain(
                call.si(f"{model}/text/{book}/{chapter}/{part}/{words}")
                for chapter in range(1, chapters + 1)
                for part, words in zip(asked[::2], asked[1::2], strict=True)
            ).apply_async()
            for book in range(books)
        ]
        for end in ends:
            end.get()
        took, used = time.perf_counter() - began, cpu_seconds(processes) - cpu
    print(json.dumps({"wall": took, "cpu": used, "chapters": books * chapters}), flush=True)


@contextlib.contextmanager
def redis_server() -> Iterator[subprocess.Popen[bytes]]:
    """A Redis on its own port, for this process and its worker."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bookgen-bench-redis-") as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        redis = subprocess.Popen([*command, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)
        os.environ[REDIS] = app.conf.broker_url = app.conf.result_backend = f"redis://127.0.0.1:{port}/0"
        try:
            yield redis
        finally:
            redis.kill()
            redis.wait()


@contextlib.contextmanager
def worker(books: int) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that has finished its first task."""
    command = [sys.executable, "-W", "ignore", "-m", "celery", "-A", "bench.service.peers.celery_peer", "worker"]
    command += ["-P", "gevent", "-c", str(min(books, MAX_TASKS_AT_ONCE)), "-l", "ERROR"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    working = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        call.si(f"{sys.argv[1]}/text/0/1/1/10").apply_async().get(timeout=START_SECONDS)
        yield working
    finally:
        working.kill()
        working.wait()


if __name__ == "__main__":
    # Imported like in the worker, because a task's name contains the name of its module.
    from bench.service.peers import celery_peer

    celery_peer.main()
