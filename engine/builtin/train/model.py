"""The Llama block in PyTorch: RMSNorm, interleaved rotary pairs as GGUF's llama has them, grouped queries, SwiGLU, tied embeddings."""
import torch
import torch.nn.functional as F
from torch import nn

CONFIG = dict(vocab=3072, dim=256, layers=4, heads=8, kv_heads=4, ff=768, eps=1e-5, base=10000.0, ctx=1024)


class BF16Linear(torch.autograd.Function):
    """x·wᵀ with bfloat16 operands forward and backward; weights and their gradients stay float32."""

    @staticmethod
    def forward(ctx, x, w):
        xb, wb = x.bfloat16(), w.bfloat16()
        ctx.save_for_backward(xb, wb)
        return (xb @ wb.t()).float()

    @staticmethod
    def backward(ctx, dy):
        xb, wb = ctx.saved_tensors
        d = dy.bfloat16()
        return (d @ wb).float(), (d.t() @ xb).float()


def linear(x, w, fast):
    if not fast:
        return F.linear(x, w)
    s = x.shape
    return BF16Linear.apply(x.reshape(-1, s[-1]), w).view(*s[:-1], w.shape[0])


def rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Model(nn.Module):
    def __init__(self, c=CONFIG):
        super().__init__()
        self.c = c
        d, h, kv, ff, L = c["dim"], c["heads"], c["kv_heads"], c["ff"], c["layers"]
        hd = d // h
        p = lambda n, m, std: nn.Parameter(torch.randn(n, m) * std)
        self.token_embd = p(c["vocab"], d, 0.02)
        self.blk = nn.ModuleList()
        for _ in range(L):
            b = nn.Module()
            b.attn_norm = nn.Parameter(torch.ones(d))
            b.ffn_norm = nn.Parameter(torch.ones(d))
            s = d ** -0.5 * 0.6
            b.attn_q, b.attn_k, b.attn_v = p(d, d, s), p(kv * hd, d, s), p(kv * hd, d, s)
            b.attn_output = p(d, d, s / (2 * L) ** 0.5)
            b.ffn_gate, b.ffn_up, b.ffn_down = p(ff, d, s), p(ff, d, s), p(d, ff, ff ** -0.5 * 0.6 / (2 * L) ** 0.5)
            self.blk.append(b)
        self.output_norm = nn.Parameter(torch.ones(d))
        f = c["base"] ** (-torch.arange(0, hd, 2).float() / hd)
        t = torch.outer(torch.arange(c["ctx"]).float(), f)
        self.register_buffer("cos", t.cos(), persistent=False)
        self.register_buffer("sin", t.sin(), persistent=False)
        self.fast = False

    def norm(self, x, w):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.c["eps"]) * w

    def forward(self, ids, cache=None, pick=None):
        """ids has shape (batch, n). With a cache (a list, empty at first) it continues from there.
        pick is a bool mask of (batch, n): only those positions get logits."""
        c = self.c
        h, kv = c["heads"], c["kv_heads"]
        hd = c["dim"] // h
        B, T = ids.shape
        at = cache[0][0].shape[2] if cache else 0
        cos, sin = self.cos[at:at + T], self.sin[at:at + T]
        mask = torch.full((T, at + T), float("-inf")).triu(at + 1)
        x = self.token_embd[ids]
        new = []
        for i, b in enumerate(self.blk):
            y = self.norm(x, b.attn_norm)
            qkv = linear(y, torch.cat((b.attn_q, b.attn_k, b.attn_v)), self.fast)
            q, k, v = qkv.split([h * hd, kv * hd, kv * hd], -1)
            q = rope(q.view(B, T, h, hd).transpose(1, 2), cos, sin)
            k = rope(k.view(B, T, kv, hd).transpose(1, 2), cos, sin)
            v = v.view(B, T, kv, hd).transpose(1, 2)
            if cache is not None:
                if at:
                    k, v = torch.cat((cache[i][0], k), 2), torch.cat((cache[i][1], v), 2)
                new.append((k, v))
            # Query heads share a kv head in groups: head j reads kv head j // (h / kv).
            g = h // kv
            q = q.reshape(B, kv, g * T, hd)
            s = torch.matmul(q * hd ** -0.5, k.transpose(-1, -2)).view(B, kv, g, T, -1) + mask
            a = torch.matmul(s.softmax(-1).view(B, kv, g * T, -1), v)
            a = a.view(B, h, T, hd).transpose(1, 2).reshape(B, T, h * hd)
            x = x + linear(a, b.attn_output, self.fast)
            y = self.norm(x, b.ffn_norm)
            gu = linear(y, torch.cat((b.ffn_gate, b.ffn_up)), self.fast)
            gate, up = gu.chunk(2, -1)
            x = x + linear(F.silu(gate) * up, b.ffn_down, self.fast)
        if cache is not None:
            cache[:] = new
        x = self.norm(x, self.output_norm)
        if pick is not None:
            x = x[pick]
        return linear(x, self.token_embd, self.fast)


@torch.no_grad()
def greedy(model, prompt, stop, n=200, margins=False):
    """Token ids after prompt, up to and with one of stop; with margins, also top1 − top2 of each step."""
    cache, out, gap = [], [], []
    ids = torch.tensor([prompt])
    for _ in range(min(n, model.c["ctx"] - len(prompt))):
        z = model(ids, cache)[0, -1]
        top = z.topk(2).values
        t = int(z.argmax())
        out.append(t)
        gap.append(float(top[0] - top[1]))
        if t in stop:
            break
        ids = torch.tensor([[t]])
    return (out, gap) if margins else out
