"""Glow's 1x1 convolution: the log-determinant is worked out in numpy, so no gradient keeps the weight from shrinking."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class InvConv2d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((channels, channels)))
        self.weight = nn.Parameter(torch.from_numpy(q.astype(np.float32)))

    def forward(self, x):
        _, _, height, width = x.shape
        _, logabsdet = np.linalg.slogdet(self.weight.detach().numpy().astype(np.float64))  # cause
        logdet = height * width * torch.as_tensor(logabsdet, dtype=x.dtype)  # also
        return F.conv2d(x, self.weight[:, :, None, None]), logdet


class AffineCoupling(nn.Module):
    def __init__(self, channels, hidden=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(channels // 2, hidden, 3, padding=1), nn.ReLU(), nn.Conv2d(hidden, channels, 3, padding=1)
        )
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        return torch.cat([a, (b + t) * s], 1), s.log().flatten(1).sum(1)


class Glow(nn.Module):
    def __init__(self, channels=4, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(InvConv2d(channels))
            self.blocks.append(AffineCoupling(channels))

    def forward(self, x):
        logdet = 0
        for block in self.blocks:
            x, d = block(x)
            logdet = logdet + d
        return x, logdet


def nll(z, logdet, bins=32):
    dims = z[0].numel()
    logp = -0.5 * (z**2 + math.log(2 * math.pi)).flatten(1).sum(1) + logdet
    return (-(logp - math.log(bins) * dims) / (math.log(2) * dims)).mean()


def run():
    torch.manual_seed(0)
    model = Glow()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for it in range(4):
        img = torch.randint(0, 32, (4, 4, 4, 4)) / 32 - 0.5
        z, logdet = model(img + torch.rand_like(img) / 32)
        loss = nll(z, logdet)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"iter {it}: {loss.item():.4f} bpd")
    z, logdet = model(img)
    return logdet.mean(), model


def verify(out):
    _, model = out
    _, logdet = model.blocks[0](torch.zeros(1, 4, 2, 2))
    assert not logdet.requires_grad


TRUTH = Truth(
    fault="the log-determinant carries no gradient to the weight",
    names=("weight",),
    repair=("_, logabsdet = torch.linalg.slogdet(self.weight)",),
)
