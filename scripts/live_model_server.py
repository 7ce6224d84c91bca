"""live_model_server.py GGUF PORT CONTEXT: llama.cpp's own OpenAI-compatible server on loopback, until it is killed."""
import signal
import sys

import xllamacpp

path, port, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
params = xllamacpp.CommonParams()
params.model.path = path
params.model_alias = {"smollm2-135m"}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_parallel = 1
params.n_ctx = context
params.cpuparams.n_threads = 1  # its threads spin: two of them crawl when the machine has other work
params.offline = True
params.ui = False
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
signal.pause()
