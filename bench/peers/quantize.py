#!/usr/bin/env python3
"""Quantises a GGUF file with llama.cpp's own quantiser, which node-llama-cpp's
library has but does not offer to JavaScript.

    python3 quantize.py SOURCE TARGET FILE_TYPE [THREADS]

FILE_TYPE is the number of general.file_type: 15 is Q4_K_M. PEER_DIR is as for
llama.mjs. Made for Linux on x86-64 and node-llama-cpp 3.22.1.
"""

import ctypes
import glob
import os
import sys

source, target, kind = sys.argv[1], sys.argv[2], int(sys.argv[3])
threads = int(sys.argv[4]) if len(sys.argv) > 4 else os.cpu_count()
home = os.environ.get("PEER_DIR", os.path.dirname(os.path.abspath(__file__)))
bins = os.path.join(home, "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64")
for name in ("libggml-base*.so", "libggml.*so", "libllama.*so"):
    lib = ctypes.CDLL(glob.glob(os.path.join(bins, name))[0], mode=ctypes.RTLD_GLOBAL)


class Params(ctypes.Structure):
    """The start of llama_model_quantize_params, and room for the rest of it."""

    _fields_ = [("nthread", ctypes.c_int32), ("ftype", ctypes.c_int32), ("rest", ctypes.c_byte * 1016)]


lib.llama_model_quantize_default_params.restype = Params
lib.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Params)]
lib.llama_model_quantize.restype = ctypes.c_uint32
lib.llama_backend_init()
p = lib.llama_model_quantize_default_params()
p.nthread, p.ftype = threads, kind
sys.exit(lib.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(p)))
