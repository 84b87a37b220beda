"""llama.cpp's own server as a process. It prints its address once it listens, and ends when its parent closes the pipe.

Its log on standard error has a line for each call that ended.

python -m bench.models.server MODEL.gguf CONTEXT SLOTS
"""

from __future__ import annotations

import os
import sys

import xllamacpp


def main() -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    settings.endpoint_metrics = True
    settings.port = 0
    # On a busy machine, threads that wait for each other are slower than a single thread.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = max((os.cpu_count() or 2) // 2, 1)
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
