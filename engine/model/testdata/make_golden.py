#!/usr/bin/env python3
"""Makes NAME.gguf and NAME.golden.json of this folder for the architectures
that the team's fixtures do not cover: tiny random models, and their outputs
computed in float64 from the definitions alone, sharing no code with quern.

Made with Python 3.11 and numpy 1.24.2; run it in this folder.
"""

import json
import math
import struct

import numpy as np

HIDDEN, HEADS, KV, DIM, FF, VOCAB, LAYERS, EXPERTS, USED = 32, 4, 2, 16, 32, 48, 2, 4, 2
POSITIONS = [0, 7, 23]
F32, F16, MXFP4 = 0, 1, 39


class Model:
    """Collects keys and tensors; self[name] is a tensor's value in float64."""

    def __init__(self, arch, seed):
        self.arch, self.rng = arch, np.random.default_rng(seed)
        self.keys, self.tensors, self.values = [], [], {}
        self.key("general.architecture", arch)
        for k, v in {"context_length": 64, "embedding_length": HIDDEN, "block_count": LAYERS, "feed_forward_length": FF,
                     "attention.head_count": HEADS, "attention.head_count_kv": KV}.items():
            self.key(arch + "." + k, v)

    def own(self, key, value):
        self.key(self.arch + "." + key, value)

    def key(self, key, value):
        self.keys.append((key, value))

    def add(self, name, *shape, kind=None, mean=0.0, scale=None):
        if kind is None:
            kind = F32 if len(shape) == 1 or "gate_inp" in name or ".bias" in name else F16
        if scale is None:
            scale = 0.3 if len(shape) == 1 or ".bias" in name else 1.5 / math.sqrt(shape[-1])
        x = (mean + scale * self.rng.standard_normal(shape)).astype(np.float32)
        if kind == F32:
            data = x.tobytes()
        elif kind == F16:
            x = x.astype(np.float16)
            data = x.tobytes()
        else:
            x, data = mxfp4(x)
        self.values[name] = x.astype(np.float64)
        self.tensors.append((name, shape, kind, data))

    def norm(self, name, n, bias=False):
        self.add(name + ".weight", n, mean=1.0)
        if bias:
            self.add(name + ".bias", n)

    def linear(self, name, out, n, bias=False):
        self.add(name + ".weight", out, n)
        if bias:
            self.add(name + ".bias", out)

    def __getitem__(self, name):
        return self.values[name]

    def get(self, name):
        return self.values.get(name)

    def apply(self, name, x):
        y = x @ self[name + ".weight"].T
        b = self.get(name + ".bias")
        return y if b is None else y + b

    def write(self, name, golden):
        with open(name + ".gguf", "wb") as f:
            f.write(b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.keys)))
            for k, v in self.keys:
                f.write(text(k))
                if isinstance(v, bool):
                    f.write(struct.pack("<IB", 7, v))
                elif isinstance(v, int):
                    f.write(struct.pack("<II", 4, v))
                elif isinstance(v, float):
                    f.write(struct.pack("<If", 6, v))
                elif isinstance(v, list):
                    kind, code = (7, "?") if isinstance(v[0], bool) else (4, "I")
                    f.write(struct.pack(f"<IIQ{len(v)}{code}", 9, kind, len(v), *v))
                else:
                    f.write(struct.pack("<I", 8) + text(v))
            at = 0
            for n, shape, kind, data in self.tensors:
                f.write(text(n) + struct.pack("<I", len(shape)))
                for d in reversed(shape):
                    f.write(struct.pack("<Q", d))
                f.write(struct.pack("<IQ", kind, at))
                at += (len(data) + 31) // 32 * 32
            f.write(bytes(-f.tell() % 32))
            for _, _, _, data in self.tensors:
                f.write(data + bytes(-len(data) % 32))
        with open(name + ".golden.json", "w") as f:
            json.dump(golden, f)
            f.write("\n")


def text(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def mxfp4(x):
    """OCP Microscaling Formats, 2023: 32 numbers of 4 bits under one power of two."""
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    grid = np.concatenate([grid, -grid])
    data, back = bytearray(), np.empty(x.size)
    for i, block in enumerate(x.reshape(-1, 32).astype(np.float64)):
        exp = math.floor(math.log2(np.abs(block).max())) - 2
        q = np.abs(block[:, None] / 2.0**exp - grid).argmin(axis=1)
        data.append(exp + 127)
        data += bytes((q[:16] | q[16:] << 4).astype(np.uint8))
        back[32 * i:32 * i + 32] = grid[q] * 2.0**exp
    return back.reshape(x.shape), bytes(data)


def rms(x, w, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def layer(x, w, b, eps):
    d = x - x.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + eps) * w + b


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def swiglu_clamped(g, u):
    g, u = np.minimum(g, 7), np.clip(u, -7, 7)
    return g * sigmoid(1.702 * g) * (u + 1)


def freqs(base, dim=DIM):
    return base ** (-np.arange(0, dim, 2) / dim)


def rope(x, f, neighbours=False, magnitude=1.0):
    """x is (tokens, heads, dim); the first 2·len(f) values of a head turn."""
    angle = np.arange(len(x))[:, None, None] * f
    c, s = np.cos(angle) * magnitude, np.sin(angle) * magnitude
    y, n = x.copy(), len(f)
    i, j = (slice(0, 2 * n, 2), slice(1, 2 * n, 2)) if neighbours else (slice(0, n), slice(n, 2 * n))
    y[..., i], y[..., j] = x[..., i] * c - x[..., j] * s, x[..., j] * c + x[..., i] * s
    return y


def attend(q, k, v, scale, causal=True, window=0, sinks=None):
    n, group = len(q), q.shape[1] // k.shape[1]
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    seen = (j <= i) if causal else np.ones((n, n), bool)
    if window and causal:
        seen &= i - j < window
    elif window:
        seen &= abs(i - j) <= window // 2
    out = []
    for h in range(q.shape[1]):
        s = np.where(seen, q[:, h] @ k[:, h // group].T * scale, -np.inf)
        if sinks is not None:
            s = np.concatenate([s, np.full((n, 1), sinks[h])], axis=1)
        out.append(softmax(s)[:, :n] @ v[:, h // group])
    return np.concatenate(out, axis=1)


def heads(x, n):
    return x.reshape(len(x), n, -1)


def experts(m, p, h, norm, act):
    """Row by row, as the mixture is defined."""
    probability = softmax(m.apply(p + "ffn_gate_inp", h))
    y = np.zeros_like(h)
    for r in range(len(h)):
        best = sorted(range(EXPERTS), key=lambda e: -probability[r, e])[:USED]
        w = probability[r, best]
        if norm:
            w = w / w.sum()
        for e, we in zip(best, w):
            part = {}
            for k in ("gate", "up"):
                part[k] = m[f"{p}ffn_{k}_exps.weight"][e] @ h[r]
                if m.get(f"{p}ffn_{k}_exps.bias") is not None:
                    part[k] = part[k] + m[f"{p}ffn_{k}_exps.bias"][e]
            z = m[p + "ffn_down_exps.weight"][e] @ act(part["gate"], part["up"])
            if m.get(p + "ffn_down_exps.bias") is not None:
                z = z + m[p + "ffn_down_exps.bias"][e]
            y[r] += we * z
    return y


def sparse_mixer(scores, jitter):
    """Two experts, the second after the first is taken away, each weighed by the
    softmax over those near it (Liu et al., GRIN MoE, 2024)."""
    chosen, left = [], scores.copy()
    for _ in range(2):
        best = int(left.argmax())
        top = left[best]
        near = (top - scores) / np.maximum(np.abs(scores), top) <= 2 * jitter
        e = np.exp(left - top) * near
        chosen.append((best, e[best] / e.sum()))
        left[best] = -np.inf
    return chosen


def swiglu(g, u):
    return silu(g) * u


def add_experts(m, p, bias=False, kind=F16):
    m.linear(p + "ffn_gate_inp", EXPERTS, HIDDEN, bias)
    for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
        m.add(f"{p}ffn_{k}_exps.weight", EXPERTS, out, n, kind=kind)
        if bias:
            m.add(f"{p}ffn_{k}_exps.bias", EXPERTS, out)


def add_attention(m, p, bias=False, out_bias=False, dim=DIM):
    m.linear(p + "attn_q", HEADS * dim, HIDDEN, bias)
    m.linear(p + "attn_k", KV * dim, HIDDEN, bias)
    m.linear(p + "attn_v", KV * dim, HIDDEN, bias)
    m.linear(p + "attn_output", HIDDEN, HEADS * dim, out_bias)


def qkv(m, p, h):
    return [heads(m.apply(p + "attn_" + k, h), n) for k, n in (("q", HEADS), ("k", KV), ("v", KV))]


def finish(m, name, ids, logits):
    m.write(name, {
        "prompt_ids": ids, "logits_last": logits[-1].tolist(),
        "logits_pos": {str(p): logits[p].tolist() for p in POSITIONS},
    })


def start(arch, seed, tied=False, bias=False, eps="attention.layer_norm_rms_epsilon", dim=DIM):
    m = Model(arch, seed)
    m.own(eps, 1e-3)
    m.own("attention.key_length", dim)
    m.own("attention.value_length", dim)
    ids = m.rng.integers(0, VOCAB, 24).tolist()
    m.add("token_embd.weight", VOCAB, HIDDEN, scale=1.0)
    m.norm("output_norm", HIDDEN, bias)
    if not tied:
        m.add("output.weight", VOCAB, HIDDEN)
    return m, ids


def llama_bias_linear():
    m, ids = start("llama", 1)
    m.own("rope.freq_base", 5000.0)
    m.own("rope.scaling.type", "linear")
    m.own("rope.scaling.factor", 4.0)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN)
        add_attention(m, p, bias=True, out_bias=True)
        m.norm(p + "ffn_norm", HIDDEN)
        for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, out, n)
        q, k, v = qkv(m, p, rms(x, m[p + "attn_norm.weight"], 1e-3))
        f = freqs(5000.0) / 4
        x = x + m.apply(p + "attn_output", attend(rope(q, f, True), rope(k, f, True), v, DIM**-0.5))
        h = rms(x, m[p + "ffn_norm.weight"], 1e-3)
        x = x + m.apply(p + "ffn_down", silu(m.apply(p + "ffn_gate", h)) * m.apply(p + "ffn_up", h))
    finish(m, "llama-bias-linear", ids, m.apply("output", rms(x, m["output_norm.weight"], 1e-3)))


def falcon_40b():
    dim = HIDDEN // HEADS
    m, ids = start("falcon", 2, bias=True, eps="attention.layer_norm_epsilon", dim=dim)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN, True)
        m.norm(p + "attn_norm_2", HIDDEN, True)
        m.linear(p + "attn_qkv", (HEADS + 2 * KV) * dim, HIDDEN)
        m.linear(p + "attn_output", HIDDEN, HEADS * dim)
        m.linear(p + "ffn_up", FF, HIDDEN)
        m.linear(p + "ffn_down", HIDDEN, FF)
        h = layer(x, m[p + "attn_norm_2.weight"], m[p + "attn_norm_2.bias"], 1e-3)
        all = heads(m.apply(p + "attn_qkv", h), HEADS + 2 * KV)
        q, k, v = all[:, :HEADS], all[:, HEADS:HEADS + KV], all[:, HEADS + KV:]
        f = freqs(10000.0, dim)
        a = m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, dim**-0.5))
        h = layer(x, m[p + "attn_norm.weight"], m[p + "attn_norm.bias"], 1e-3)
        x = x + a + m.apply(p + "ffn_down", gelu(m.apply(p + "ffn_up", h)))
    finish(m, "falcon-40b", ids, m.apply("output", layer(x, m["output_norm.weight"], m["output_norm.bias"], 1e-3)))


def qwen_moe(arch, seed):
    m, ids = start(arch, seed)
    two = arch == "qwen2moe"
    m.own("rope.freq_base", 1e6)
    m.own("expert_count", EXPERTS)
    m.own("expert_used_count", USED)
    m.own("expert_feed_forward_length", FF)
    shared = 48
    if two:
        m.own("expert_shared_feed_forward_length", shared)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN)
        add_attention(m, p, bias=two)
        if not two:
            m.norm(p + "attn_q_norm", DIM)
            m.norm(p + "attn_k_norm", DIM)
        m.norm(p + "ffn_norm", HIDDEN)
        add_experts(m, p)
        q, k, v = qkv(m, p, rms(x, m[p + "attn_norm.weight"], 1e-3))
        if not two:
            q, k = rms(q, m[p + "attn_q_norm.weight"], 1e-3), rms(k, m[p + "attn_k_norm.weight"], 1e-3)
        f = freqs(1e6)
        x = x + m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, DIM**-0.5))
        h = rms(x, m[p + "ffn_norm.weight"], 1e-3)
        y = experts(m, p, h, not two, swiglu)
        if two:
            m.add(p + "ffn_gate_inp_shexp.weight", HIDDEN)
            for k, out, n in (("gate", shared, HIDDEN), ("up", shared, HIDDEN), ("down", HIDDEN, shared)):
                m.linear(f"{p}ffn_{k}_shexp", out, n)
            z = m.apply(p + "ffn_down_shexp", silu(m.apply(p + "ffn_gate_shexp", h)) * m.apply(p + "ffn_up_shexp", h))
            y = y + sigmoid(h @ m[p + "ffn_gate_inp_shexp.weight"])[:, None] * z
        x = x + y
    finish(m, arch, ids, m.apply("output", rms(x, m["output_norm.weight"], 1e-3)))


def phimoe():
    """As GGUF files of it are run: RMS norms with a bias, softmax routing."""
    m, ids = start("phimoe", 5, bias=True)
    m.add("output.bias", VOCAB)
    m.own("expert_count", EXPERTS)
    m.own("expert_used_count", USED)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN, True)
        add_attention(m, p, bias=True, out_bias=True)
        m.norm(p + "ffn_norm", HIDDEN, True)
        add_experts(m, p)
        q, k, v = qkv(m, p, rms(x, m[p + "attn_norm.weight"], 1e-3) + m[p + "attn_norm.bias"])
        f = freqs(10000.0)
        x = x + m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, DIM**-0.5))
        x = x + experts(m, p, rms(x, m[p + "ffn_norm.weight"], 1e-3) + m[p + "ffn_norm.bias"], True, swiglu)
    finish(m, "phimoe", ids, m.apply("output", rms(x, m["output_norm.weight"], 1e-3) + m["output_norm.bias"]))


def phimoe_layer_norm():
    """As Microsoft's own files of it are run: LayerNorm and SparseMixer."""
    jitter = 0.25
    m, ids = start("phimoe", 6, bias=True, eps="attention.layer_norm_epsilon")
    m.add("output.bias", VOCAB)
    m.own("expert_count", EXPERTS)
    m.own("expert_used_count", USED)
    m.own("router_jitter", jitter)
    x = m["token_embd.weight"][ids]
    mixed = 0
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN, True)
        add_attention(m, p, bias=True, out_bias=True)
        m.norm(p + "ffn_norm", HIDDEN, True)
        add_experts(m, p)
        q, k, v = qkv(m, p, layer(x, m[p + "attn_norm.weight"], m[p + "attn_norm.bias"], 1e-3))
        f = freqs(10000.0)
        x = x + m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, DIM**-0.5))
        h = layer(x, m[p + "ffn_norm.weight"], m[p + "ffn_norm.bias"], 1e-3)
        y = np.zeros_like(h)
        for r, scores in enumerate(m.apply(p + "ffn_gate_inp", h)):
            for e, w in sparse_mixer(scores, jitter):
                mixed += w < 1
                g = swiglu(m[p + "ffn_gate_exps.weight"][e] @ h[r], m[p + "ffn_up_exps.weight"][e] @ h[r])
                y[r] += w * (m[p + "ffn_down_exps.weight"][e] @ g)
        x = x + y
    assert mixed > 10, "too few near scores to test anything"
    finish(m, "phimoe-layer-norm", ids, m.apply("output", layer(x, m["output_norm.weight"], m["output_norm.bias"], 1e-3)))


def olmo2():
    m, ids = start("olmo2", 6)
    m.own("rope.freq_base", 500000.0)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        add_attention(m, p)
        m.norm(p + "attn_q_norm", HEADS * DIM)
        m.norm(p + "attn_k_norm", KV * DIM)
        m.norm(p + "post_attention_norm", HIDDEN)
        m.norm(p + "post_ffw_norm", HIDDEN)
        for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, out, n)
        q = heads(rms(m.apply(p + "attn_q", x), m[p + "attn_q_norm.weight"], 1e-3), HEADS)
        k = heads(rms(m.apply(p + "attn_k", x), m[p + "attn_k_norm.weight"], 1e-3), KV)
        v = heads(m.apply(p + "attn_v", x), KV)
        f = freqs(500000.0)
        a = m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, DIM**-0.5))
        x = x + rms(a, m[p + "post_attention_norm.weight"], 1e-3)
        h = m.apply(p + "ffn_down", silu(m.apply(p + "ffn_gate", x)) * m.apply(p + "ffn_up", x))
        x = x + rms(h, m[p + "post_ffw_norm.weight"], 1e-3)
    finish(m, "olmo2", ids, m.apply("output", rms(x, m["output_norm.weight"], 1e-3)))


def granite():
    m, ids = start("granite", 7, tied=True)
    m.own("embedding_scale", 12.0)
    m.own("residual_scale", 0.25)
    m.own("attention.scale", 0.125)
    m.own("logit_scale", 8.0)
    x = 12 * m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN)
        add_attention(m, p)
        m.norm(p + "ffn_norm", HIDDEN)
        for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, out, n)
        q, k, v = qkv(m, p, rms(x, m[p + "attn_norm.weight"], 1e-3))
        f = freqs(10000.0)
        x = x + 0.25 * m.apply(p + "attn_output", attend(rope(q, f, True), rope(k, f, True), v, 0.125))
        h = rms(x, m[p + "ffn_norm.weight"], 1e-3)
        x = x + 0.25 * m.apply(p + "ffn_down", silu(m.apply(p + "ffn_gate", h)) * m.apply(p + "ffn_up", h))
    finish(m, "granite", ids, m.apply("token_embd", rms(x, m["output_norm.weight"], 1e-3)) / 8)


def yarn(base, factor, original, fast, slow):
    """Peng et al., "YaRN", 2023, with the ends of its ramp rounded outwards."""
    def pair(turns):
        return DIM * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
    low, high = max(0, math.floor(pair(fast))), min(DIM - 1, math.ceil(pair(slow)))
    f = freqs(base)
    keep = 1 - np.clip((np.arange(len(f)) - low) / max(0.001, high - low), 0, 1)
    return f / factor * (1 - keep) + f * keep, 1 + 0.1 * math.log(factor)


def gpt_oss(name, kind):
    m, ids = start("gpt-oss", 8)
    for k, v in {"rope.freq_base": 1000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
                 "rope.scaling.original_context_length": 512, "attention.sliding_window": 8,
                 "expert_count": EXPERTS, "expert_used_count": USED, "expert_feed_forward_length": FF}.items():
        m.own(k, v)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN)
        add_attention(m, p, bias=True, out_bias=True)
        m.add(p + "attn_sinks.weight", HEADS, scale=1.0)
        m.norm(p + "post_attention_norm", HIDDEN)
        add_experts(m, p, bias=True, kind=kind)
        q, k, v = qkv(m, p, rms(x, m[p + "attn_norm.weight"], 1e-3))
        f, size = yarn(1000.0, 4.0, 512, 32, 1)
        a = attend(rope(q, f, magnitude=size), rope(k, f, magnitude=size), v, DIM**-0.5,
                   window=8 if i % 2 == 0 else 0, sinks=m[p + "attn_sinks.weight"])
        x = x + m.apply(p + "attn_output", a)
        x = x + experts(m, p, rms(x, m[p + "post_attention_norm.weight"], 1e-3), True, swiglu_clamped)
    finish(m, name, ids, m.apply("output", rms(x, m["output_norm.weight"], 1e-3)))


def nomic_bert():
    dim = HIDDEN // HEADS
    m = Model("nomic-bert", 9)
    m.own("attention.layer_norm_epsilon", 1e-3)
    m.own("rope.freq_base", 1000.0)
    m.own("attention.causal", False)
    m.own("pooling_type", 1)
    m.keys = [(k, HEADS if k.endswith("head_count_kv") else v) for k, v in m.keys]
    ids = m.rng.integers(0, VOCAB, 24).tolist()
    m.add("token_embd.weight", VOCAB, HIDDEN, scale=1.0)
    m.add("token_types.weight", 2, HIDDEN, kind=F32)
    m.norm("token_embd_norm", HIDDEN, True)
    x = m["token_embd.weight"][ids] + m["token_types.weight"][0]
    x = layer(x, m["token_embd_norm.weight"], m["token_embd_norm.bias"], 1e-3)
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.linear(p + "attn_qkv", 3 * HIDDEN, HIDDEN)
        m.linear(p + "attn_output", HIDDEN, HIDDEN)
        m.norm(p + "attn_output_norm", HIDDEN, True)
        for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, out, n)
        m.norm(p + "layer_output_norm", HIDDEN, True)
        q, k, v = (heads(y, HEADS) for y in np.split(m.apply(p + "attn_qkv", x), 3, axis=1))
        f = freqs(1000.0, dim)
        x = x + m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, dim**-0.5, causal=False))
        x = layer(x, m[p + "attn_output_norm.weight"], m[p + "attn_output_norm.bias"], 1e-3)
        x = x + m.apply(p + "ffn_down", silu(m.apply(p + "ffn_gate", x)) * m.apply(p + "ffn_up", x))
        x = layer(x, m[p + "layer_output_norm.weight"], m[p + "layer_output_norm.bias"], 1e-3)
    m.write("nomic-bert", {
        "prompt_ids": ids, "embedding": x.mean(axis=0).tolist(),
        "token_embedding": {str(p): x[p].tolist() for p in POSITIONS},
    })


def gemma4_moe():
    """Layers with a window have two key heads of 8; the others one of 16 whose values are
    its keys before norm and rotation, of which a quarter of the pairs turns. Experts beside a
    dense block."""
    eps, slides = 1e-3, [True, False, True, False]
    m = Model("gemma4", 10)
    m.keys = [(k, {"gemma4.block_count": 4, "gemma4.attention.head_count_kv": [2 if s else 1 for s in slides]}.get(k, v)) for k, v in m.keys]
    m.own("attention.layer_norm_rms_epsilon", eps)
    for k, full, local in (("attention.key_length", 16, 8), ("attention.value_length", 16, 8), ("rope.dimension_count", 16, 8), ("rope.freq_base", 5000.0, 1000.0)):
        m.own(k, full)
        m.own(k + "_swa", local)
    m.own("attention.sliding_window", 8)
    m.own("attention.sliding_window_pattern", slides)
    m.own("attention.shared_kv_layers", 0)
    m.own("embedding_length_per_layer_input", 0)
    m.own("final_logit_softcapping", 5.0)
    m.own("expert_count", EXPERTS)
    m.own("expert_used_count", USED)
    m.own("expert_feed_forward_length", 16)
    ids = m.rng.integers(0, VOCAB, 24).tolist()
    m.add("token_embd.weight", VOCAB, HIDDEN, scale=1.0)
    m.norm("output_norm", HIDDEN)
    m.add("rope_freqs.weight", 8, scale=0.0, mean=1.0)
    m.values["rope_freqs.weight"][2:] = 1e30
    name, shape, kind, _ = m.tensors[-1]
    m.tensors[-1] = (name, shape, kind, m["rope_freqs.weight"].astype(np.float32).tobytes())
    none = np.ones(HIDDEN)
    x = m["token_embd.weight"][ids] * math.sqrt(HIDDEN)
    for i, local in enumerate(slides):
        p, kv, dim = f"blk.{i}.", 2 if local else 1, 8 if local else 16
        for n in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"):
            m.norm(p + n, HIDDEN)
        m.linear(p + "attn_q", HEADS * dim, HIDDEN)
        m.linear(p + "attn_k", kv * dim, HIDDEN)
        if local:
            m.linear(p + "attn_v", kv * dim, HIDDEN)
        m.linear(p + "attn_output", HIDDEN, HEADS * dim)
        m.norm(p + "attn_q_norm", dim)
        m.norm(p + "attn_k_norm", dim)
        for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, out, n)
        m.linear(p + "ffn_gate_inp", EXPERTS, HIDDEN)
        m.add(p + "ffn_gate_inp.scale", HIDDEN, mean=8.0, kind=F32)
        m.add(p + "ffn_down_exps.scale", EXPERTS, mean=1.0, kind=F32)
        m.add(p + "ffn_gate_up_exps.weight", EXPERTS, 32, HIDDEN)
        m.add(p + "ffn_down_exps.weight", EXPERTS, HIDDEN, 16)
        m.add(p + "layer_output_scale.weight", 1, mean=0.8)
        h = rms(x, m[p + "attn_norm.weight"], eps)
        q, k = heads(m.apply(p + "attn_q", h), HEADS), heads(m.apply(p + "attn_k", h), kv)
        v = heads(m.apply(p + "attn_v", h), kv) if local else k
        f = freqs(1000.0, 8) if local else freqs(5000.0, 16) / m["rope_freqs.weight"]
        q, k = rope(rms(q, m[p + "attn_q_norm.weight"], eps), f), rope(rms(k, m[p + "attn_k_norm.weight"], eps), f)
        a = attend(q, k, rms(v, np.ones(dim), eps), 1.0, window=8 if local else 0)
        x = x + rms(m.apply(p + "attn_output", a), m[p + "post_attention_norm.weight"], eps)
        h = rms(x, m[p + "ffn_norm.weight"], eps)
        dense = m.apply(p + "ffn_down", gelu_tanh(m.apply(p + "ffn_gate", h)) * m.apply(p + "ffn_up", h))
        scores = softmax(m.apply(p + "ffn_gate_inp", rms(x, none, eps) * m[p + "ffn_gate_inp.scale"] / math.sqrt(HIDDEN)))
        h, mixed = rms(x, m[p + "pre_ffw_norm_2.weight"], eps), np.zeros_like(x)
        for r in range(len(x)):
            best = sorted(range(EXPERTS), key=lambda e: -scores[r, e])[:USED]
            for e in best:
                gate, up = np.split(m[p + "ffn_gate_up_exps.weight"][e] @ h[r], 2)
                mixed[r] += scores[r, e] / scores[r, best].sum() * m[p + "ffn_down_exps.scale"][e] * (m[p + "ffn_down_exps.weight"][e] @ (gelu_tanh(gate) * up))
        both = rms(dense, m[p + "post_ffw_norm_1.weight"], eps) + rms(mixed, m[p + "post_ffw_norm_2.weight"], eps)
        x = (x + rms(both, m[p + "post_ffw_norm.weight"], eps)) * m[p + "layer_output_scale.weight"]
    logits = rms(x, m["output_norm.weight"], eps) @ m["token_embd.weight"].T
    finish(m, "gemma4-moe", ids, 5 * np.tanh(logits / 5))


def encoder_start(arch, seed, layers=LAYERS, norm_eps="attention.layer_norm_epsilon", kv=HEADS, hidden=HIDDEN, tokens=24, **own):
    """own are keys that differ from those of all."""
    m = Model(arch, seed)
    own = {"head_count_kv": kv, "block_count": layers, "embedding_length": hidden, "context_length": max(64, tokens), **own}
    m.keys = [(k, own.get(k.split(".")[-1], v)) for k, v in m.keys]
    m.own(norm_eps, 1e-3)
    m.own("attention.causal", False)
    ids = m.rng.integers(0, VOCAB, tokens).tolist()
    m.add("token_embd.weight", VOCAB, hidden, scale=1.0)
    return m, ids


def encoder_finish(m, name, ids, x, pooled, **more):
    m.write(name, {
        "prompt_ids": ids, "embedding": pooled.tolist(),
        "token_embedding": {str(p): x[p].tolist() for p in [*POSITIONS, len(ids) - 1]}, **more,
    })


def modern_bert(name, seed, act, window, scores=False):
    """Warner et al., "Smarter, Better, Faster, Longer", 2024, §2: norms before each block, a gate whose
    rows come first, every third layer sees all and turns by another base."""
    dim = HIDDEN // HEADS
    m, ids = encoder_start("modern-bert", seed, layers=5, tokens=24 if scores else 160)
    m.own("rope.freq_base", 5000.0)
    m.own("rope.freq_base_swa", 300.0)
    m.own("rope.scaling.type", "none")
    m.own("pooling_type", 4 if scores else 2)
    m.own("attention.sliding_window", window)
    if act is silu:
        m.own("hidden_activation", "silu")
    m.norm("token_embd_norm", HIDDEN)
    m.norm("output_norm", HIDDEN)
    norm = lambda x, name: layer(x, m[name + ".weight"], 0, 1e-3)
    x = norm(m["token_embd.weight"][ids], "token_embd_norm")
    for i in range(5):
        p = f"blk.{i}."
        if i > 0:
            m.norm(p + "attn_norm", HIDDEN)
        m.linear(p + "attn_qkv", 3 * HIDDEN, HIDDEN)
        m.linear(p + "attn_output", HIDDEN, HIDDEN)
        m.norm(p + "ffn_norm", HIDDEN)
        m.linear(p + "ffn_up", 2 * FF, HIDDEN)
        m.linear(p + "ffn_down", HIDDEN, FF)
        h = norm(x, p + "attn_norm") if i > 0 else x
        q, k, v = (heads(y, HEADS) for y in np.split(m.apply(p + "attn_qkv", h), 3, axis=1))
        f = freqs(5000.0 if i % 3 == 0 else 300.0, dim)
        a = attend(rope(q, f), rope(k, f), v, dim**-0.5, causal=False, window=0 if i % 3 == 0 else window)
        x = x + m.apply(p + "attn_output", a)
        g, u = np.split(m.apply(p + "ffn_up", norm(x, p + "ffn_norm")), 2, axis=1)
        x = x + m.apply(p + "ffn_down", act(g) * u)
    x = norm(x, "output_norm")
    if not scores:
        return encoder_finish(m, name, ids, x, x[0])
    m.linear("cls", HIDDEN, HIDDEN)
    m.norm("cls.norm", HIDDEN)
    m.linear("cls.output", 1, HIDDEN, bias=True)
    mean = x.mean(axis=0)
    h = norm(gelu(m.apply("cls", mean)), "cls.norm")
    encoder_finish(m, name, ids, x, mean, vector=m.apply("cls.output", h).tolist())


def bert_scores():
    """XLM-RoBERTa that scores pairs: BERT, with one type of token and a head on the first row."""
    dim = HIDDEN // HEADS
    m, ids = encoder_start("bert", 12)
    m.own("pooling_type", 4)
    m.add("token_types.weight", 1, HIDDEN, kind=F32)
    m.add("position_embd.weight", 64, HIDDEN, kind=F32, scale=1.0)
    m.norm("token_embd_norm", HIDDEN, True)
    norm = lambda x, name: layer(x, m[name + ".weight"], m[name + ".bias"], 1e-3)
    x = m["token_embd.weight"][ids] + m["token_types.weight"][0] + m["position_embd.weight"][:len(ids)]
    x = norm(x, "token_embd_norm")
    for i in range(LAYERS):
        p = f"blk.{i}."
        for k, out, n in (("attn_q", HIDDEN, HIDDEN), ("attn_k", HIDDEN, HIDDEN), ("attn_v", HIDDEN, HIDDEN),
                          ("attn_output", HIDDEN, HIDDEN), ("ffn_up", FF, HIDDEN), ("ffn_down", HIDDEN, FF)):
            m.linear(p + k, out, n, bias=True)
        m.norm(p + "attn_output_norm", HIDDEN, True)
        m.norm(p + "layer_output_norm", HIDDEN, True)
        q, k, v = (heads(m.apply(p + "attn_" + k, x), HEADS) for k in "qkv")
        x = norm(x + m.apply(p + "attn_output", attend(q, k, v, dim**-0.5, causal=False)), p + "attn_output_norm")
        x = norm(x + m.apply(p + "ffn_down", gelu(m.apply(p + "ffn_up", x))), p + "layer_output_norm")
    m.linear("cls", HIDDEN, HIDDEN, bias=True)
    m.linear("cls.output", 1, HIDDEN, bias=True)
    encoder_finish(m, "xlm-roberta-scores", ids, x, x[0], vector=m.apply("cls.output", np.tanh(m.apply("cls", x[0]))).tolist())


def jina_bert():
    """Slopes times distance off the scores (Press et al., 2022), a gate by GELU, norms after each block;
    as many heads as no power of two."""
    hidden, n, dim = 48, 6, 8
    m, ids = encoder_start("jina-bert-v2", 16, kv=n, hidden=hidden, tokens=160, head_count=n)
    m.own("pooling_type", 1)
    m.add("token_types.weight", 2, hidden, kind=F32)
    m.norm("token_embd_norm", hidden, True)
    norm = lambda x, name: layer(x, m[name + ".weight"], m[name + ".bias"], 1e-3)
    x = norm(m["token_embd.weight"][ids] + m["token_types.weight"][0], "token_embd_norm")
    # Four heads have 2^-2, 2^-4, 2^-6, 2^-8; of eight heads' every other comes after.
    slopes = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    away = abs(np.arange(len(ids))[:, None] - np.arange(len(ids))[None, :])
    for i in range(LAYERS):
        p = f"blk.{i}."
        for k, out, inner, bias in (("attn_q", hidden, hidden, True), ("attn_k", hidden, hidden, True), ("attn_v", hidden, hidden, True),
                                    ("attn_output", hidden, hidden, True), ("ffn_gate", FF, hidden, False), ("ffn_up", FF, hidden, False), ("ffn_down", hidden, FF, True)):
            m.linear(p + k, out, inner, bias=bias)
        m.norm(p + "attn_output_norm", hidden, True)
        m.norm(p + "layer_output_norm", hidden, True)
        q, k, v = (heads(m.apply(p + "attn_" + k, x), n) for k in "qkv")
        a = np.concatenate([softmax(q[:, h] @ k[:, h].T * dim**-0.5 - slopes[h] * away) @ v[:, h] for h in range(n)], axis=1)
        x = norm(x + m.apply(p + "attn_output", a), p + "attn_output_norm")
        x = norm(x + m.apply(p + "ffn_down", gelu(m.apply(p + "ffn_gate", x)) * m.apply(p + "ffn_up", x)), p + "layer_output_norm")
    encoder_finish(m, "jina-bert-v2", ids, x, x.mean(axis=0))


def qwen3_scores():
    """Qwen3-Reranker: how much likelier yes is than no after the last token."""
    m, ids = start("qwen3", 13, tied=True)
    m.own("rope.freq_base", 1e6)
    m.own("pooling_type", 4)
    x = m["token_embd.weight"][ids]
    for i in range(LAYERS):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", HIDDEN)
        add_attention(m, p)
        m.norm(p + "attn_q_norm", DIM)
        m.norm(p + "attn_k_norm", DIM)
        m.norm(p + "ffn_norm", HIDDEN)
        for k, out, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, out, n)
        q, k, v = qkv(m, p, rms(x, m[p + "attn_norm.weight"], 1e-3))
        q, k = rms(q, m[p + "attn_q_norm.weight"], 1e-3), rms(k, m[p + "attn_k_norm.weight"], 1e-3)
        f = freqs(1e6)
        x = x + m.apply(p + "attn_output", attend(rope(q, f), rope(k, f), v, DIM**-0.5))
        h = rms(x, m[p + "ffn_norm.weight"], 1e-3)
        x = x + m.apply(p + "ffn_down", silu(m.apply(p + "ffn_gate", h)) * m.apply(p + "ffn_up", h))
    x = rms(x, m["output_norm.weight"], 1e-3)
    yes, no = 7, 3  # rows of the embedding, as its converter takes them
    m.values["cls.output.weight"] = m["token_embd.weight"][[yes, no]]
    m.tensors.append(("cls.output.weight", (2, HIDDEN), F16, m["cls.output.weight"].astype(np.float16).tobytes()))
    both = m.apply("cls.output", x[-1])
    encoder_finish(m, "qwen3-scores", ids, x, x[-1], vector=[both[0] - both[1]])


def gemma_embedding():
    """EmbeddingGemma with the two layers behind its mean."""
    m, ids = encoder_start("gemma-embedding", 14, norm_eps="attention.layer_norm_rms_epsilon", kv=KV, tokens=160)
    wide, out = 56, HIDDEN
    for k, v in {"attention.key_length": DIM, "attention.value_length": DIM, "rope.freq_base": 5000.0, "rope.freq_base_swa": 300.0,
                 "attention.sliding_window": 9, "attention.sliding_window_pattern": 2, "pooling_type": 1,
                 "dense_2_feat_in": HIDDEN, "dense_2_feat_out": wide, "dense_3_feat_in": wide, "dense_3_feat_out": out}.items():
        m.own(k, v)
    m.norm("output_norm", HIDDEN)
    gate = lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    norm = lambda x, name: rms(x, m[name + ".weight"], 1e-3)
    x = m["token_embd.weight"][ids] * math.sqrt(HIDDEN)
    for i in range(LAYERS):
        p = f"blk.{i}."
        for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            m.norm(p + name, HIDDEN)
        add_attention(m, p)
        m.norm(p + "attn_q_norm", DIM)
        m.norm(p + "attn_k_norm", DIM)
        for k, o, n in (("gate", FF, HIDDEN), ("up", FF, HIDDEN), ("down", HIDDEN, FF)):
            m.linear(p + "ffn_" + k, o, n)
        q, k, v = qkv(m, p, norm(x, p + "attn_norm"))
        q, k = norm(q, p + "attn_q_norm"), norm(k, p + "attn_k_norm")
        f = freqs(300.0 if i == 0 else 5000.0)
        a = attend(rope(q, f), rope(k, f), v, DIM**-0.5, causal=False, window=9 if i == 0 else 0)
        x = x + norm(m.apply(p + "attn_output", a), p + "post_attention_norm")
        h = norm(x, p + "ffn_norm")
        x = x + norm(m.apply(p + "ffn_down", gate(m.apply(p + "ffn_gate", h)) * m.apply(p + "ffn_up", h)), p + "post_ffw_norm")
    x = norm(x, "output_norm")
    m.linear("dense_2", wide, HIDDEN)
    m.linear("dense_3", out, wide)
    mean = x.mean(axis=0)
    encoder_finish(m, "gemma-embedding", ids, x, mean, vector=m.apply("dense_3", m.apply("dense_2", mean)).tolist())


if __name__ == "__main__":
    llama_bias_linear()
    falcon_40b()
    qwen_moe("qwen2moe", 3)
    qwen_moe("qwen3moe", 4)
    phimoe()
    phimoe_layer_norm()
    olmo2()
    granite()
    gpt_oss("gpt-oss", F16)
    gpt_oss("gpt-oss-MXFP4", MXFP4)
    nomic_bert()
    gemma4_moe()
    modern_bert("modern-bert", 10, gelu, 8)
    modern_bert("modern-bert-scores", 11, silu, 7, scores=True)
    bert_scores()
    jina_bert()
    qwen3_scores()
    gemma_embedding()
