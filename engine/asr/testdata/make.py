#!/usr/bin/env python3
"""Pack the goldens that tests need where the fixtures are absent.

make.py FIXTURES writes golden.zip beside itself: the tiny random model of
FIXTURES/hf_tiny, features of eleven seconds of speech, and what the reference
implementation makes of both (openai-whisper c0d2f62 with PyTorch 1.13, float32).
Of long goldens only the beginning is kept. The same fixtures give the same bytes.
"""
import json
import os
import struct
import sys
import zipfile

source = sys.argv[1]


def tensors(path, keep):
    """The tensors of a SafeTensors file that keep names, cut to so many elements."""
    with open(os.path.join(source, path), "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        head, data = json.loads(f.read(size)), f.read()
    out, body = {}, b""
    for name, most in keep.items():
        t = head[name]
        raw = data[t["data_offsets"][0] : t["data_offsets"][1]]
        shape = t["shape"]
        if most:
            shape, raw = [most // shape[-1], shape[-1]], raw[: 4 * most]
        out[name] = {"dtype": t["dtype"], "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def text(path):
    with open(os.path.join(source, path)) as f:
        return json.dumps(json.load(f), separators=(",", ":"), ensure_ascii=False).encode()


def raw(path):
    with open(os.path.join(source, path), "rb") as f:
        return f.read()


files = {"hf_tiny/" + n: text("hf_tiny/" + n) for n in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")}
files["hf_tiny/model.safetensors"] = raw("hf_tiny/model.safetensors")
files["hf_tiny_golden.json"] = text("hf_tiny_golden.json")
files["hf_tiny_golden.safetensors"] = tensors("hf_tiny_golden.safetensors", {
    "enc.conv1_gelu.first64": 0, "enc.conv2_gelu.first64": 0, "enc.block0.first64": 0, "enc.block1.first64": 0,
    "enc.out.first600": 64 * 64, "enc.out.stride50": 0, "dec.logits": 8 * 2608, "dtw.cost": 0,
})
files["features.safetensors"] = tensors("features.safetensors", {"mel80.first1110": 0, "mel80.tail_constant": 0})
with zipfile.ZipFile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    for name, data in sorted(files.items()):
        z.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
