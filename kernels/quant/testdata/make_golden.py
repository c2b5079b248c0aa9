"""Cuts decode.json out of a set of GGUF files and dequant.json.

dequant.json holds, per type, the first values of one tensor as ggml's own
dequantisation gives them (llama.cpp v0.5.0, CPU; 9 digits, so every float32 is
exact). The weights come from the GGUF file it names. Both are kept for the
first 256 values, as base64 of little-endian bytes.

    python3 make_golden.py FOLDER > decode.json
"""

import base64
import json
import pathlib
import struct
import sys

BLOCK = {  # values and bytes per block, by GGML number
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    20: (32, 18), 23: (256, 136), 30: (1, 2),
}
SCALAR = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
KEEP = 256


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        size = struct.calcsize("<" + fmt)
        (v,) = struct.unpack_from("<" + fmt, self.data, self.at)
        self.at += size
        return v

    def string(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n : self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, n = self.take("I"), self.take("Q")
            for _ in range(n):
                self.value(kind)
            return None
        n = SCALAR[kind]
        self.at += n
        return int.from_bytes(self.data[self.at - n : self.at], "little")


def tensors(path):
    r = Reader(path.read_bytes())
    assert r.take("I") == 0x46554747 and r.take("I") == 3
    count, meta = r.take("Q"), r.take("Q")
    align = 32
    for _ in range(meta):
        key, kind = r.string(), r.take("I")
        v = r.value(kind)
        if key == "general.alignment":
            align = v
    infos = {}
    for _ in range(count):
        name = r.string()
        for _ in range(r.take("I")):
            r.take("Q")
        kind = r.take("I")
        infos[name] = (kind, r.take("Q"))
    base = (r.at + align - 1) // align * align
    return r.data, {n: (k, base + off) for n, (k, off) in infos.items()}


def main():
    folder = pathlib.Path(sys.argv[1])
    out = {}
    for name, g in json.loads((folder / "dequant.json").read_text()).items():
        data, infos = tensors(folder / g["file"])
        kind, at = infos[g["tensor"]]
        block, size = BLOCK[kind]
        out[name] = {
            "weights": base64.b64encode(data[at : at + KEEP // block * size]).decode(),
            "values": base64.b64encode(struct.pack("<%df" % KEEP, *g["first_512"][:KEEP])).decode(),
        }
    json.dump(out, sys.stdout, indent=1)
    print()


main()
