"""Serves a GGUF file with OpenAI's API on a free loopback port until standard input ends: quiz_server.py FILE THREADS.

It runs in an environment of its own (see ``quiz.py``), which has xllamacpp and the package with the model, and
nothing of turnwire.
"""

from __future__ import annotations

import sys

import xllamacpp

CONTEXT = 8192
"""Tokens of events, question and answer that the model was trained for."""


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
