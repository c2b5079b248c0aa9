"""Parts of make_families.py: a model on its way to files, and what layers are made of."""

import json
import math
import os
import struct
import sys

import numpy as np

from make_golden import attend, freqs, heads, rms, rope, sigmoid, silu, softmax, swiglu, text

H, HEADS, KV, DIM, FF, VOCAB, E, USED = 32, 2, 1, 16, 32, 48, 4, 2
PROMPT, POSITIONS, EPS = 80, (0, 7, 23), 1e-3
F32 = "--f32" in sys.argv
OUT = next((a for a in sys.argv[1:] if a[0] != "-"), "made")


class Made:
    """A model on its way: its weights under both names, its configuration and keys."""

    def __init__(self, name, arch, seed, layers, config, keys, before="model.", eps=EPS, tied=False):
        self.name, self.arch, self.layers, self.before, self.eps = name, arch, layers, before, eps
        self.rng = np.random.default_rng(seed)
        self.hf, self.gguf = {}, {}
        self.config = {
            "hidden_size": H, "intermediate_size": FF, "num_hidden_layers": layers, "num_attention_heads": HEADS, "num_key_value_heads": KV,
            "vocab_size": VOCAB, "max_position_embeddings": 512, "rms_norm_eps": eps, "tie_word_embeddings": tied, "torch_dtype": "float16", **config,
        }
        self.keys = {
            "context_length": 512, "embedding_length": H, "block_count": layers, "feed_forward_length": FF, "attention.head_count": HEADS,
            "attention.head_count_kv": KV, "vocab_size": VOCAB, "attention.layer_norm_rms_epsilon": eps, **keys,
        }
        self.ids = self.rng.integers(0, VOCAB, PROMPT).tolist()
        self.embed = self.w(before + "embed_tokens.weight", "token_embd.weight", VOCAB, H, scale=1.0)
        self.tied, self.whole = tied, {}  # whole: keys without the architecture
        self.mtp, self.parts = None, {}

    def w(self, hf, gguf, *shape, mean=0.0, scale=None, turn=None):
        """A new tensor, or the one of that name; turn makes GGUF's of it."""
        if hf in self.hf:
            return self.hf[hf]
        if scale is None:
            scale = 0.3 if len(shape) == 1 else 1.2 / math.sqrt(shape[-1])
        x = (mean + scale * self.rng.standard_normal(shape)).astype(np.float16).astype(np.float64)
        self.hf[hf] = x
        if gguf:
            self.gguf[gguf] = turn(x) if turn else x
        return x

    def norm(self, hf, gguf, n=H, eps=None, less=0.0):
        """less is what files of Hugging Face's store less."""
        w = self.w(hf + ".weight", gguf and gguf + ".weight", n, mean=1.0 - less, turn=lambda x: x + less) + less
        return lambda x: rms(x, w, self.eps if eps is None else eps)

    def linear(self, hf, gguf, out, n, bias=False, turn=None, scale=None):
        w = self.w(hf + ".weight", gguf and gguf + ".weight", out, n, turn=turn, scale=scale)
        b = self.w(hf + ".bias", gguf and gguf + ".bias", out, turn=turn) if bias else 0.0
        return lambda x: x @ w.T + b

    def skipped(self, *names):
        for n in names:
            self.w(n, None, 4, 4)

    def drafts(self, layer, hf, names=("eh_proj", "enorm", "hnorm", "shared_head.norm"), less=0.0, own=False):
        """One more layer, for multi-token prediction; with own it has an embedding and a head of its own."""
        self.mtp = layer, hf, names, less, own
        self.keys.update(block_count=self.layers + 1, nextn_predict_layers=1)

    def draft(self, made, head):
        """Logits of some rows of the prompt, and of three rows behind it that go on by themselves."""
        layer, hf, (join, enorm, hnorm, last), less, own = self.mtp
        g = f"blk.{self.layers}.nextn."
        join = self.w(hf + join + ".weight", g + "eh_proj.weight", H, 2 * H, mean=np.hstack([np.eye(H), np.zeros((H, H))]), scale=0.3 / math.sqrt(H))
        enorm, hnorm, last = (self.norm(hf + n, g + to, less=less) for n, to in ((enorm, "enorm"), (hnorm, "hnorm"), (last, "shared_head_norm")))
        embed = self.embed
        if own:
            embed = self.w(hf + "embed_tokens.weight", g + "embed_tokens.weight", VOCAB, H, mean=embed, scale=0.1)
            mine = self.w(hf + "shared_head.head.weight", g + "shared_head_head.weight", VOCAB, H)
            head = lambda x: x @ mine.T
        follow, made, chain = self.ids[1:], made[:-1], []
        for _ in range(3):
            y = last(layer(np.hstack([enorm(embed[follow]), hnorm(made)]) @ join.T))
            logits = head(y)
            if not chain:
                rows = {str(p): logits[p].tolist() for p in (*POSITIONS, PROMPT - 2)}
            chain.append(logits[-1].tolist())
            follow, made = [*follow, int(np.argmax(logits[-1]))], np.vstack([made, y[-1:]])
        return {"mtp_pos": rows, "mtp_chain": chain}

    def done(self, x, norm="norm", gguf_norm="output_norm", head="lm_head", divide=1.0, less=0.0, wrap=None, cap=0.0):
        x = self.norm(self.before + norm, gguf_norm, less=less)(x)
        out = (lambda y: y @ self.embed.T) if self.tied else self.linear(head, "output", VOCAB, H)
        logits = out(x) / divide
        if cap:
            logits = cap * np.tanh(logits / cap)
        drafted = self.draft(x, out) if self.mtp else {}
        name, _, variant = self.name.partition("+")  # a variant is another configuration of the same weights
        at = os.path.join(OUT, self.name if F32 else name)
        os.makedirs(os.path.join(at, "hf"), exist_ok=True)
        variant = variant and not F32 and "-" + variant
        if not variant:
            write_gguf(os.path.join(at, "model.gguf"), self.arch, self.keys, self.gguf, self.whole)
        config = self.config if wrap is None else {"model_type": wrap, "tie_word_embeddings": self.tied, "text_config": self.config, "vision_config": {"depth": 1}}
        with open(os.path.join(at, "hf", f"config{variant or ''}.json"), "w") as f:
            json.dump(config, f)
            f.write("\n")
        if not variant:
            write_safetensors(os.path.join(at, "hf", "model.safetensors"), self.hf)
        rows = {str(p): [float(f"{v:.9g}") for v in logits[p]] for p in (*POSITIONS, PROMPT - 1)}
        with open(os.path.join(at, f"golden{variant or ''}.json"), "w") as f:
            json.dump({"prompt_ids": self.ids, "logits_last": rows.pop(str(PROMPT - 1)), "logits_pos": rows, **drafted}, f)
            f.write("\n")


def write_gguf(path, arch, keys, tensors, whole):
    def value(v):
        if isinstance(v, bool):
            return 7, struct.pack("<B", v)
        if isinstance(v, int):
            return 4, struct.pack("<I", v)
        if isinstance(v, float):
            return 6, struct.pack("<f", v)
        if isinstance(v, str):
            return 8, text(v)
        kind = value(v[0])[0]
        return 9, struct.pack("<IQ", kind, len(v)) + b"".join(value(x)[1] for x in v)

    keys = {"general.architecture": arch, "tokenizer.ggml.model": "no_vocab", **{arch + "." + k: v for k, v in keys.items()}, **whole}
    head, body, at = b"", [], 0
    for k, v in keys.items():
        kind, data = value(v)
        head += text(k) + struct.pack("<I", kind) + data
    for n, x in tensors.items():
        exact = F32 or x.ndim == 1 or any(s in n for s in ("ssm_a", "ssm_d", "conv", "gate_inp", "norm")) or not np.array_equal(x, x.astype(np.float16))
        data = x.astype(np.float32 if exact else np.float16).tobytes()
        head += text(n) + struct.pack("<I", x.ndim) + b"".join(struct.pack("<Q", d) for d in reversed(x.shape)) + struct.pack("<IQ", 0 if exact else 1, at)
        data += bytes(-len(data) % 32)
        at += len(data)
        body.append(data)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + head
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + b"".join(body))


def write_safetensors(path, tensors):
    at, header, body = 0, {}, []
    for n, x in tensors.items():
        data = x.astype(np.float16).tobytes()
        header[n] = {"dtype": "F16", "shape": list(x.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        body.append(data)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + b"".join(body))


# Parts.


def adjacent(x, dim=DIM):
    """GGUF's order of the rows of a head where halves become neighbours."""
    rows = x.reshape(-1, 2, dim // 2, *x.shape[1:])
    return rows.swapaxes(1, 2).reshape(x.shape)


def attention(m, hf, gguf, x, turn=lambda t: t, bias=False, norms=None, scale=DIM**-0.5, window=0, out="o_proj", rows=None, kv=KV):
    """norms are names of norms of each head, turn the rotation, rows what GGUF does to q and k."""
    q = heads(m.linear(hf + "q_proj", gguf + "attn_q", HEADS * DIM, H, bias, rows)(x), HEADS)
    k = heads(m.linear(hf + "k_proj", gguf + "attn_k", kv * DIM, H, bias, rows)(x), kv)
    v = heads(m.linear(hf + "v_proj", gguf + "attn_v", kv * DIM, H, bias)(x), kv)
    if norms:
        q, k = m.norm(hf + norms[0], gguf + "attn_q_norm", DIM)(q), m.norm(hf + norms[1], gguf + "attn_k_norm", DIM)(k)
    return m.linear(hf + out, gguf + "attn_output", H, HEADS * DIM)(attend(turn(q), turn(k), v, scale, window=window))


def mlp(m, hf, gguf, x, ff=FF, names=("gate_proj", "up_proj", "down_proj"), kind=""):
    gate, up = m.linear(hf + names[0], f"{gguf}ffn_gate{kind}", ff, H), m.linear(hf + names[1], f"{gguf}ffn_up{kind}", ff, H)
    return m.linear(hf + names[2], f"{gguf}ffn_down{kind}", H, ff)(swiglu(gate(x), up(x)))


def mlp_fused(m, hf, gguf, x, ff=FF, name="gate_up_proj", down="down_proj"):
    g, u = np.split(m.linear(hf + name, gguf + "ffn_up", 2 * ff, H)(x), 2, axis=1)
    return m.linear(hf + down, gguf + "ffn_down", H, ff)(swiglu(g, u))


def experts(m, hf, gguf, x, chosen, ff=FF, names=("gate_proj", "up_proj", "down_proj"), form="each", width=H):
    """chosen has, for each row, pairs of an expert and its weight. Without a first name
    experts have no gates and are squared ReLUs."""
    shapes = {"gate": (ff, width), "up": (ff, width), "down": (width, ff)}
    if not names[0]:
        del shapes["gate"]
    if hf not in m.parts:
        m.parts[hf] = {k: (1.2 / math.sqrt(s[1]) * m.rng.standard_normal((E, *s))).astype(np.float16).astype(np.float64) for k, s in shapes.items()}
    part = m.parts[hf]
    if form == "each":
        for k, name in zip(("gate", "up", "down"), names):
            for e in range(E if name else 0):
                m.hf[f"{hf}experts.{e}.{name}.weight"] = part[k][e]
    else:
        both, down = np.concatenate([part["gate"], part["up"]], axis=1), part["down"]
        if form == "turned":
            both, down = both.swapaxes(1, 2), down.swapaxes(1, 2)
        m.hf[hf + names[0]], m.hf[hf + names[2]] = both, down
    for k, x3 in part.items():
        m.gguf[f"{gguf}ffn_{k}_exps.weight"] = x3
    y = np.zeros((len(x), width))
    for r, pairs in enumerate(chosen):
        for e, weight in pairs:
            u = part["up"][e] @ x[r]
            z = swiglu(part["gate"][e] @ x[r], u) if "gate" in part else np.maximum(u, 0) ** 2
            y[r] += weight * (part["down"][e] @ z)
    return y


def choose(scores, bias=0.0, renormalise=False, scale=1.0):
    out = []
    for s in scores:
        best = np.argsort(-(s + bias), kind="stable")[:USED]
        w = s[best] / s[best].sum() if renormalise else s[best]
        out.append(list(zip(best, w * scale)))
    return out


def conv(x, w):
    """Depthwise and causal; the newest input has the last column of w (channels, taps)."""
    taps = w.shape[1]
    padded = np.concatenate([np.zeros((taps - 1, x.shape[1])), x])
    return sum(padded[j:j + len(x)] * w[:, j] for j in range(taps))


def softplus(x):
    return np.log1p(np.exp(x))


def add_conv(m, hf, gguf, channels, taps, bias):
    w = m.w(hf + ".weight", gguf + ".weight", channels, 1, taps, scale=0.5, turn=lambda x: x[:, 0])[:, 0]
    b = m.w(hf + ".bias", gguf + ".bias", channels) if bias else 0.0
    return lambda x: conv(x, w) + b


def mamba1(m, hf, gguf, x, inner=2 * H, state=16, rank=4):
    u, z = np.split(m.linear(hf + "in_proj", gguf + "ssm_in", 2 * inner, H)(x), 2, axis=1)
    u = silu(add_conv(m, hf + "conv1d", gguf + "ssm_conv1d", inner, 4, True)(u))
    d = m.linear(hf + "x_proj", gguf + "ssm_x", rank + 2 * state, inner)(u)
    dt = m.norm(hf + "dt_layernorm", gguf + "ssm_dt_norm", rank)(d[:, :rank])
    bs = m.norm(hf + "b_layernorm", gguf + "ssm_b_norm", state)(d[:, rank:rank + state])
    cs = m.norm(hf + "c_layernorm", gguf + "ssm_c_norm", state)(d[:, rank + state:])
    dt = softplus(m.linear(hf + "dt_proj", gguf + "ssm_dt", inner, rank, True)(dt))
    a = -np.exp(m.w(hf + "A_log", gguf + "ssm_a", inner, state, scale=0.5, turn=lambda t: -np.exp(t)))
    skip = m.w(hf + "D", gguf + "ssm_d", inner, mean=1.0)
    s, y = np.zeros((inner, state)), []
    for t in range(len(x)):
        s = np.exp(dt[t][:, None] * a) * s + (dt[t] * u[t])[:, None] * bs[t]
        y.append(s @ cs[t] + skip * u[t])
    return m.linear(hf + "out_proj", gguf + "ssm_out", H, inner)(np.array(y) * silu(z))


def mamba2(m, hf, gguf, x, n=4, dim=16, groups=1, state=16):
    inner, bc = n * dim, groups * state
    y = m.linear(hf + "in_proj", gguf + "ssm_in", 2 * inner + 2 * bc + n, H)(x)
    z, u, dt = y[:, :inner], y[:, inner:2 * inner + 2 * bc], y[:, 2 * inner + 2 * bc:]
    u = silu(add_conv(m, hf + "conv1d", gguf + "ssm_conv1d", inner + 2 * bc, 4, True)(u))
    dt = softplus(dt + m.w(hf + "dt_bias", gguf + "ssm_dt.bias", n))
    a = -np.exp(m.w(hf + "A_log", gguf + "ssm_a", n, turn=lambda t: -np.exp(t)[:, None]))
    skip = m.w(hf + "D", gguf + "ssm_d", n, mean=1.0, turn=lambda t: t[:, None])
    w = m.w(hf + "norm.weight", gguf + "ssm_norm.weight", inner, mean=1.0, turn=lambda t: t.reshape(groups, -1))
    v = heads(u[:, :inner], n)
    bs, cs = (np.repeat(heads(t, groups), n // groups, axis=1) for t in (u[:, inner:inner + bc], u[:, inner + bc:]))
    s, out = np.zeros((n, dim, state)), []
    for t in range(len(x)):
        s = np.exp(dt[t] * a)[:, None, None] * s + dt[t][:, None, None] * v[t][:, :, None] * bs[t][:, None, :]
        out.append((s @ cs[t][:, :, None])[:, :, 0] + skip[:, None] * v[t])
    g = np.array(out).reshape(len(x), inner) * silu(z)
    g = rms(g.reshape(len(x), groups, -1), 1.0, m.eps).reshape(len(x), inner) * w
    return m.linear(hf + "out_proj", gguf + "ssm_out", H, inner)(g)


def yarn(base, dim, factor, original, fast=32, slow=1):
    """Peng et al., "YaRN", 2023, with the ends of its ramp rounded outwards."""
    def pair(turns):
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
    low, high = max(0, math.floor(pair(fast))), min(dim - 1, math.ceil(pair(slow)))
    f = freqs(base, dim)
    keep = 1 - np.clip((np.arange(len(f)) - low) / max(0.001, high - low), 0, 1)
    return f / factor * (1 - keep) + f * keep
