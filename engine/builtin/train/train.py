"""Trains quern-tiny. train.py TOKENIZER OUT.pt [steps seed workers tokens START peak until]

START is a .pt or a .gguf to go on from, until the step to stop at.

Documents are made as they are needed, sorted by length in pools and batched with their like, so no attention crosses documents
and little is padding. Loss is taken on the assistant's tokens and on plain text. Matrices of the blocks are trained with Muon
(Jordan et al., 2024: momentum, orthogonalised by Newton-Schulz), the rest with Adam. The learning rate follows the steps, and
nothing follows the clock: the same command on the same kind of machine writes the same weights. A checkpoint OUT.part is written every 200 steps.

Each worker is a process with one thread and its own documents. Weights and gradients are shared memory; the workers meet twice
a step, so that on a busy machine they wait for one another seldom.
"""
import os
import random
import sys
import time

import torch
import torch.multiprocessing as mp

import data
from export import load
from model import CONFIG, Model, greedy
from tokenizer import Tokenizer


def tokenise(tok, doc):
    """ids and, for each position, whether the next token is to be learned."""
    if isinstance(doc, str):
        ids = tok.encode(data.render(doc))
        return ids, [1] * (len(ids) - 1)
    ids, learn = [], []
    if isinstance(doc, tuple) and doc[0] == "form":
        wanted = [w for text, w in doc[1] for _ in text.encode()]
        at = 0
        for i in tok.encode("".join(text for text, _ in doc[1])):
            n = len(tok.tokens[i])  # a character for each byte
            ids.append(i)
            learn.append(int(any(wanted[at:at + n])))
            at += n
        assert at == len(wanted)
        return ids, learn[1:]
    if isinstance(doc, tuple):
        for i, (given, rest) in enumerate(doc[1]):
            a = tok.encode((" " if i else "") + given) if given else []
            b = tok.encode(rest if given else (" " if i else "") + rest)
            ids += a + b
            learn += [0] * len(a) + [1] * len(b)
        return ids + [0], learn[1:] + [1]
    for role, text, *learned in doc:
        head = tok.encode(f"<|im_start|>{role}\n")
        body = tok.encode(text.replace("D.C..", "D.C."), special=False) + [2]
        ids += head + body + tok.encode("\n")
        w = 1 if role == "assistant" and learned != [False] else 0
        learn += [0] * len(head) + [w] * len(body) + [0]
    return ids, learn[1:]


def producer(path, seed, q, tokens, pool):
    os.nice(2)
    tok = Tokenizer(path)
    r = random.Random(seed)
    s = seed * 1000003
    while True:
        docs = []
        s += 1
        for d in data.documents(s, pool):
            ids, learn = tokenise(tok, d)
            if len(ids) <= CONFIG["ctx"] and len(ids) > 1:
                docs.append((ids, learn))
        docs.sort(key=lambda d: len(d[0]))
        batches, b, longest = [], [], 0
        for d in docs:
            if b and (len(b) + 1) * len(d[0]) > tokens:
                batches.append(b)
                b = []
            b.append(d)
        r.shuffle(batches)
        for b in batches:
            n = max(len(i) for i, _ in b)
            ids = torch.zeros(len(b), n, dtype=torch.int32)
            learn = torch.zeros(len(b), n, dtype=torch.bool)
            for i, (x, w) in enumerate(b):
                ids[i, :len(x)] = torch.tensor(x, dtype=torch.int32)
                learn[i, :len(w)] = torch.tensor(w, dtype=torch.bool)
            q.put((ids.numpy(), learn.numpy()))


def orthogonalise(g):
    x = g.bfloat16()
    t = x.shape[0] > x.shape[1]
    if t:
        x = x.t()
    x = x / (x.float().norm() + 1e-7).bfloat16()
    for _ in range(5):
        a = x @ x.t()
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.t() if t else x).float()


class Worker:
    def __init__(self, rank, n, state, grads, meet, tokens, seed, path, out, steps, peak, hold, until):
        self.__dict__.update(locals())

    def run(self):
        torch.set_num_threads(1)
        q = mp.Queue(24)
        p = mp.Process(target=producer, args=(self.path, self.seed * 100 + self.rank, q, self.tokens, 3000), daemon=True)
        p.start()
        model = Model()
        model.fast = True
        names = []
        for name, w in model.named_parameters():
            w.data = self.state[name]  # the shared weights themselves
            names.append((name, w))
        mine = [(k, w) for i, (k, w) in enumerate(names) if i % self.n == self.rank]
        mom = {k: torch.zeros_like(w) for k, w in mine}
        sq = {k: torch.zeros_like(w) for k, w in mine}
        tok = Tokenizer(self.path)
        start = time.time()
        step = seen = learned = 0
        avg = None
        while step < self.until:
            ids, learn = q.get()
            ids, learn = torch.from_numpy(ids).long(), torch.from_numpy(learn)
            n = int(learn.sum())
            z = model(ids[:, :-1], pick=learn[:, :-1])
            loss = torch.nn.functional.cross_entropy(z, ids[:, 1:][learn[:, :-1]], reduction="sum")
            # Batches of long documents hold more to learn; their weight grows with the root only.
            (loss / (max(n, 1) * 1000) ** 0.5).backward()
            g = self.grads[self.rank]
            for k, w in names:
                g[k].copy_(w.grad)
                w.grad = None
            seen += ids.numel()
            learned += n
            avg = loss.item() / max(n, 1) if avg is None else 0.99 * avg + 0.01 * loss.item() / max(n, 1)
            step += 1
            self.meet.wait()
            f = step / self.steps
            lr = self.peak * min(1, step / 40) * (1 if f < self.hold else 1 - 0.97 * (f - self.hold) / (1 - self.hold))
            with torch.no_grad():
                for k, w in mine:
                    d = sum(g[k] for g in self.grads) / self.n
                    m = mom[k]
                    if w.dim() == 2 and k.startswith("blk"):
                        m.mul_(0.95).add_(d)
                        u = orthogonalise(d + 0.95 * m)
                        w.mul_(1 - 0.02 * lr * 0.02)
                        w.add_(u, alpha=-0.02 * lr * max(1, w.shape[0] / w.shape[1]) ** 0.5)
                    else:
                        m.mul_(0.9).add_(d, alpha=0.1)
                        sq[k].mul_(0.98).addcmul_(d, d, value=0.02)
                        w.addcdiv_(m / (1 - 0.9 ** step), (sq[k] / (1 - 0.98 ** step)).sqrt_().add_(1e-10), value=-3e-3 * lr)
            self.meet.wait()
            if self.rank == 0 and step % 50 == 0:
                el = time.time() - start
                print(f"step {step} {el:.0f}s CPU {time.process_time():.0f}s tokens {seen * self.n} ({seen * self.n / el:.0f}/s) learned {learned * self.n} loss {avg:.4f} lr {lr:.3f}", flush=True)
            if self.rank == 0 and step % 200 == 0:
                torch.save({k: w.detach().clone() for k, w in names}, self.out + ".part")
                model.fast = False
                for t in ["What is the capital of France?", "What is 7 + 8?", "hello", "Who wrote Faust?"]:
                    print("   ", t, "->", repr(tok.decode(greedy(model, tok.encode(f"<|im_start|>user\n{t}<|im_end|>\n<|im_start|>assistant\n"), (0, 2), 40))), flush=True)
                model.fast = True
        if self.rank == 0:
            torch.save({k: w.detach().clone() for k, w in names}, self.out)
            print(f"done: {step} steps, {seen * self.n} tokens, {learned * self.n} learned, {time.time() - start:.0f} s wall, "
                  f"{time.process_time() * self.n:.0f} s CPU, loss {avg:.4f}", flush=True)
        p.kill()
        os._exit(0)


def main():
    a = sys.argv[1:] + [None] * 9
    path, out = a[0], a[1]
    steps, seed, workers, tokens = int(a[2] or 4000), int(a[3] or 1), int(a[4] or 2), int(a[5] or 2048)
    torch.manual_seed(seed)
    model = Model()
    peak, hold = float(a[7] or 1), 0.35
    if a[6]:
        model.load_state_dict(load(a[6]).state_dict() if a[6].endswith(".gguf") else torch.load(a[6]))
    until = int(a[8] or steps)
    print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    share = lambda x: x.detach().clone().share_memory_()
    state = {k: share(w) for k, w in model.named_parameters()}
    grads = [{k: share(w) for k, w in model.named_parameters()} for _ in range(workers)]
    meet = mp.Barrier(workers)
    ws = [mp.Process(target=Worker(i, workers, state, grads, meet, tokens, seed, path, out, steps, peak, hold, until).run) for i in range(workers)]
    for w in ws:
        w.start()
    for w in ws:
        w.join()


if __name__ == "__main__":
    main()
