#!/usr/bin/env python3
"""pick.py TRACE OUT keeps the tensors the tests look at."""
import json, struct, sys

KEEP = ["input_ids", "ref_s", "pred_dur", "predictor.F0_proj", "predictor.N_proj", "bert_encoder", "text_encoder",
        "decoder.decode.3", "stft.input", "stft.har_spec", "stft.har_phase", "audio"]
f = open(sys.argv[1], "rb")
head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
data = f.read()
out, body = {}, b""
for k in KEEP:
    a, b = head[k]["data_offsets"]
    out[k] = dict(head[k], data_offsets=[len(body), len(body) + b - a])
    body += data[a:b]
h = json.dumps(out).encode()
h += b" " * (-len(h) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(h)) + h + body)
