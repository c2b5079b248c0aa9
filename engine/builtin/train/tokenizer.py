"""Byte-level BPE with the pre-tokenizer that GGUF calls "smollm": every digit alone, then GPT-2's pattern.

tokenizer.py train OUT.json [seed documents vocab]   makes the merges from documents of data.py.
"""
import heapq
import json
import sys
from collections import Counter, defaultdict

import regex

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
DIGIT = regex.compile(r"\p{N}")
GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
SPLIT = regex.compile("(" + "|".join(regex.escape(s) for s in SPECIAL) + ")")


def byte_alphabet():
    """GPT-2's printable stand-in for each byte."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    out, n = {}, 0
    for b in range(256):
        if b in keep:
            out[b] = chr(b)
        else:
            out[b] = chr(256 + n)
            n += 1
    return out


ALPHABET = byte_alphabet()
BYTE = {c: b for b, c in ALPHABET.items()}


def pieces(text):
    out, at = [], 0
    for m in DIGIT.finditer(text):
        out += GPT2.findall(text[at:m.start()])
        out.append(m.group())
        at = m.end()
    return out + GPT2.findall(text[at:])


def train(texts, vocab):
    counts = Counter()
    for t in texts:
        for part in SPLIT.split(t):
            if part not in SPECIAL:
                counts.update(pieces(part))
    words = [["".join(ALPHABET[b]) for b in w.encode()] for w in counts]
    freq = list(counts.values())
    pair_n, where = Counter(), defaultdict(set)
    for i, w in enumerate(words):
        for p in zip(w, w[1:]):
            pair_n[p] += freq[i]
            where[p].add(i)
    heap = [(-n, p) for p, n in pair_n.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < vocab - 256 - len(SPECIAL) and heap:
        n, p = heapq.heappop(heap)
        if -n != pair_n[p]:
            continue
        merges.append(p)
        changed = set()
        for i in list(where[p]):
            w = words[i]
            for q in zip(w, w[1:]):
                pair_n[q] -= freq[i]
                where[q].discard(i)
                changed.add(q)
            out, k = [], 0
            while k < len(w):
                if k + 1 < len(w) and (w[k], w[k + 1]) == p:
                    out.append(w[k] + w[k + 1])
                    k += 2
                else:
                    out.append(w[k])
                    k += 1
            words[i] = out
            for q in zip(out, out[1:]):
                pair_n[q] += freq[i]
                where[q].add(i)
                changed.add(q)
        for q in changed:
            if pair_n[q] > 0:
                heapq.heappush(heap, (-pair_n[q], q))
    return merges


class Tokenizer:
    def __init__(self, path):
        self.merges = [tuple(m) for m in json.load(open(path))["merges"]]
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.tokens = SPECIAL + [ALPHABET[b] for b in range(256)] + [a + b for a, b in self.merges]
        self.id = {t: i for i, t in enumerate(self.tokens)}
        assert len(self.id) == len(self.tokens)
        self.cache = {}

    def word(self, w):
        if w in self.cache:
            return self.cache[w]
        s = [ALPHABET[b] for b in w.encode()]
        while len(s) > 1:
            r, i = min((self.rank.get((s[i], s[i + 1]), 1 << 30), i) for i in range(len(s) - 1))
            if r == 1 << 30:
                break
            s[i:i + 2] = [s[i] + s[i + 1]]
        ids = [self.id[t] for t in s]
        if len(self.cache) < 200000:
            self.cache[w] = ids
        return ids

    def encode(self, text, special=True):
        out = []
        for part in SPLIT.split(text) if special else [text]:
            if special and part in SPECIAL:
                out.append(self.id[part])
            elif part:
                for w in pieces(part):
                    out += self.word(w)
        return out

    def decode(self, ids, special=False):
        out = b""
        for i in ids:
            if i < len(SPECIAL):
                out += SPECIAL[i].encode() if special else b""
            else:
                out += bytes(BYTE[c] for c in self.tokens[i])
        return out.decode("utf-8", "replace")


if __name__ == "__main__":
    import data
    seed, n, vocab = (int(x) for x in (sys.argv[3:] + ["1", "40000", "3072"])[:3])
    m = train((data.render(d) for d in data.documents(seed, n)), vocab)
    json.dump({"merges": m}, open(sys.argv[2], "w"), ensure_ascii=False, indent=0)
    t = Tokenizer(sys.argv[2])
    total = chars = 0
    for d in data.documents(seed + 1, 2000):
        s = data.render(d)
        ids = t.encode(s)
        assert t.decode(ids, True) == s
        total += len(ids)
        chars += len(s)
    print(len(t.tokens), "tokens;", chars / total, "characters per token;", total / 2000, "tokens per document")
    for s in ["The capital of France is Paris.", " Reykjavik", "what is 12+15?", "tell me a story about a fox"]:
        print([t.decode([i]) for i in t.encode(s)])
