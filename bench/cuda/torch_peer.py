"""A bfloat16 Llama of the 8B shape in PyTorch: the whole decode step as a CUDA graph.

Prints one JSON object a line, of the form bench/cuda writes.
"""
import json
import time

import torch
import torch.nn.functional as F

LAYERS, WIDTH, FF, HEADS, KV, DIM, VOCAB = 32, 4096, 14336, 32, 8, 128, 128256
device = "cuda"
torch.manual_seed(1)


def matrix(out, into):
    return torch.randn(out, into, device=device, dtype=torch.bfloat16) * 0.02


norm = torch.ones(WIDTH, device=device, dtype=torch.bfloat16)
embed, output = matrix(VOCAB, WIDTH), matrix(VOCAB, WIDTH)
layers = [
    {
        "qkv": matrix((HEADS + 2 * KV) * DIM, WIDTH),
        "o": matrix(WIDTH, HEADS * DIM),
        "up": matrix(2 * FF, WIDTH),
        "down": matrix(WIDTH, FF),
    }
    for _ in range(LAYERS)
]
freqs = 500000.0 ** (-torch.arange(0, DIM, 2, device=device).float() / DIM)


def rope(x, angles):
    a, b = x.float().chunk(2, -1)
    c, s = angles.cos(), angles.sin()
    return torch.cat((a * c - b * s, a * s + b * c), -1).to(x.dtype)


def forward(tokens, positions, cache, seen, want):
    """tokens (batch, n), positions (n), cache [(k, v)] of (batch, KV, context, DIM)."""
    batch, n = tokens.shape
    x = F.embedding(tokens, embed)
    angles = positions.float()[:, None] * freqs
    for w, (k, v) in zip(layers, cache):
        h = F.rms_norm(x, (WIDTH,), norm, 1e-5)
        q, nk, nv = (h @ w["qkv"].T).view(batch, n, HEADS + 2 * KV, DIM).transpose(1, 2).split((HEADS, KV, KV), 1)
        k.index_copy_(2, positions, rope(nk, angles))
        v.index_copy_(2, positions, nv)
        mask = torch.arange(seen, device=device)[None, :] <= positions[:, None]
        a = F.scaled_dot_product_attention(rope(q, angles), k[:, :, :seen], v[:, :, :seen], mask, enable_gqa=True)
        x = x + a.transpose(1, 2).reshape(batch, n, HEADS * DIM) @ w["o"].T
        gate, up = (F.rms_norm(x, (WIDTH,), norm, 1e-5) @ w["up"].T).chunk(2, -1)
        x = x + (F.silu(gate) * up) @ w["down"].T
    return F.rms_norm(x[:, want:], (WIDTH,), norm, 1e-5) @ output.T


def new_cache(batch, context):
    zeros = lambda: torch.zeros(batch, KV, context, DIM, device=device, dtype=torch.bfloat16)
    return [(zeros(), zeros()) for _ in range(LAYERS)]


def timed(f, count):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        f()
    torch.cuda.synchronize()
    return time.perf_counter() - start


with torch.inference_mode():
    for n in (512, 4096):
        tokens, positions = torch.randint(VOCAB, (1, n), device=device), torch.arange(n, device=device)
        cache = new_cache(1, n)
        step = lambda: forward(tokens, positions, cache, n, n - 1)
        timed(step, 2)
        best = min(timed(step, 1) for _ in range(5))
        print(json.dumps({"stage": "peer", "program": "torch " + torch.__version__, "type": "BF16", "pp": n, "pp_tokens_per_s": n / best}), flush=True)
    for batch in (1, 8, 32, 128, 256):
        tokens, position = torch.randint(VOCAB, (batch, 1), device=device), torch.full((1,), 64, device=device)
        cache = new_cache(batch, 128)
        step = lambda: forward(tokens, position, cache, 128, 0)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            timed(step, 3)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        timed(graph.replay, 8)
        took = timed(graph.replay, 128)
        print(json.dumps({"stage": "peer", "program": "torch " + torch.__version__, "type": "BF16", "tg": 128, "batch": batch, "tg_tokens_per_s": 128 * batch / took}), flush=True)
