#!/usr/bin/env python3
"""Time PyTorch on Kokoro-82M's network with random weights.

torch_peer.py [FRAMES [THREADS [RUNS]]] prints seconds of sound, seconds of work
and their ratio (the real-time factor). The network is the published one from
durations on: pitch and energy curves, decoder, generator. What runs before on
some hundred symbols (ALBERT, the encoders) is below 5 % and left out in favour
of the peer.
"""
import sys
import time

import torch
import torch.nn.functional as F

frames = int(sys.argv[1]) if len(sys.argv) > 1 else 282
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
torch.set_num_threads(threads)
torch.manual_seed(0)
STYLE = torch.randn(1, 128) * 0.1


def rand(*shape):
    fan = 1
    for n in shape[1:]:
        fan *= n
    return torch.randn(*shape) / fan**0.5


class AdaIN:
    def __init__(self, c):
        self.w, self.b, self.c = rand(2 * c, 128), torch.zeros(2 * c), c

    def __call__(self, x):
        g, b = F.linear(STYLE, self.w, self.b).view(1, 2 * self.c, 1).chunk(2, 1)
        return (1 + g) * F.instance_norm(x, eps=1e-5) + b


class Res:
    def __init__(self, i, o, up=False):
        self.n1, self.n2, self.up = AdaIN(i), AdaIN(o), up
        self.c1, self.c2 = rand(o, i, 3), rand(o, o, 3)
        self.cut = rand(o, i, 1) if i != o else None
        self.pool = rand(i, 1, 3)
        self.i = i

    def __call__(self, x):
        r = F.leaky_relu(self.n1(x), 0.2)
        if self.up:
            r = F.conv_transpose1d(r, self.pool, stride=2, padding=1, output_padding=1, groups=self.i)
        r = F.conv1d(r, self.c1, padding=1)
        r = F.conv1d(F.leaky_relu(self.n2(r), 0.2), self.c2, padding=1)
        if self.up:
            x = F.interpolate(x, scale_factor=2)
        if self.cut is not None:
            x = F.conv1d(x, self.cut)
        return (r + x) * 0.5**0.5


class Snake:
    def __init__(self, c, k):
        self.k = k
        self.n1, self.n2 = [AdaIN(c) for _ in range(3)], [AdaIN(c) for _ in range(3)]
        self.a1, self.a2 = [torch.ones(1, c, 1) for _ in range(3)], [torch.ones(1, c, 1) for _ in range(3)]
        self.c1, self.c2 = [rand(c, c, k) for _ in range(3)], [rand(c, c, k) for _ in range(3)]

    def __call__(self, x):
        for i, d in enumerate((1, 3, 5)):
            t = self.n1[i](x)
            t = t + torch.sin(self.a1[i] * t) ** 2 / self.a1[i]
            t = F.conv1d(t, self.c1[i], dilation=d, padding=d * (self.k - 1) // 2)
            t = self.n2[i](t)
            t = t + torch.sin(self.a2[i] * t) ** 2 / self.a2[i]
            x = x + F.conv1d(t, self.c2[i], padding=(self.k - 1) // 2)
        return x


shared = torch.nn.LSTM(640, 256, batch_first=True, bidirectional=True)
curves = [[Res(512, 512), Res(512, 256, True), Res(256, 256), rand(1, 256, 1)] for _ in range(2)]
down = [rand(1, 1, 3) for _ in range(2)]
side = rand(64, 512, 1)
encode = Res(514, 1024)
decode = [Res(1090, 1024), Res(1090, 1024), Res(1090, 1024), Res(1090, 512, True)]
ups = [(rand(512, 256, 20), 10, 5), (rand(256, 128, 12), 6, 3)]
branch = [(rand(256, 22, 12), 6, 3), (rand(128, 22, 1), 1, 0)]
noise = [Snake(256, 7), Snake(128, 11)]
blocks = [[Snake(256, k) for k in (3, 7, 11)], [Snake(128, k) for k in (3, 7, 11)]]
post = rand(22, 128, 7)
window = torch.hann_window(20)


def forward(d, text):
    x = shared(d)[0].transpose(1, 2)
    f0, n = [r[3] is not None and F.conv1d(r[2](r[1](r[0](x))), r[3]) for r in curves]
    a, b = F.conv1d(f0, down[0], stride=2, padding=1), F.conv1d(n, down[1], stride=2, padding=1)
    s = F.conv1d(text, side)
    x = encode(torch.cat([text, a, b], 1))
    for r in decode:
        x = r(torch.cat([x, s, a, b], 1))
    f = F.interpolate(f0, scale_factor=300)
    phase = torch.cumsum(f / 24000 * torch.arange(1, 10).view(1, 9, 1), 2)
    wave = torch.tanh((0.1 * torch.sin(6.2832 * phase) + 0.003 * torch.randn_like(phase)).mean(1))
    spec = torch.stft(wave, 20, 5, 20, window, return_complex=True)
    har = torch.cat([spec.abs(), spec.angle()], 1)
    for i in range(2):
        x = F.leaky_relu(x, 0.1)
        src = noise[i](F.conv1d(har, branch[i][0], stride=branch[i][1], padding=branch[i][2]))
        w, st, p = ups[i]
        x = F.conv_transpose1d(x, w, stride=st, padding=p)
        if i == 1:
            x = F.pad(x, (1, 0), "reflect")
        x = x + src
        x = sum(r(x) for r in blocks[i]) / 3
    x = F.conv1d(F.leaky_relu(x), post, padding=3)
    return torch.istft(torch.exp(x[:, :11]) * torch.exp(1j * torch.sin(x[:, 11:])), 20, 5, 20, window)


with torch.no_grad():
    d, text = torch.randn(1, frames, 640), torch.randn(1, 512, frames)
    times = []
    for _ in range(runs):
        t = time.time()
        y = forward(d, text)
        times.append(time.time() - t)
    times.sort()
    seconds = y.shape[1] / 24000
    print(f"sound {seconds:.2f} s  work {times[len(times) // 2]:.2f} s  real-time factor {times[len(times) // 2] / seconds:.3f}")
