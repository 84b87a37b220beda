"""llama.cpp's own server as a process: prints its address once it listens, ends with its parent's pipe.

python -m bench.models.server MODEL.gguf CONTEXT SLOTS
"""

from __future__ import annotations

import sys

import xllamacpp


def main() -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    settings.endpoint_metrics = True
    settings.port = 0
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
