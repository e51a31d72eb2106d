"""Vector quantizer: straight-through codes and a codebook moved by averages."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Quantizer(nn.Module):
    def __init__(self, n=8, d=4):
        super().__init__()
        self.register_buffer("codes", torch.randn(n, d))
        self.register_buffer("count", torch.ones(n))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        with torch.no_grad():
            hit = F.one_hot(torch.cdist(z, self.codes).argmin(1), len(self.codes)).to(z.dtype)
            q = hit @ self.codes
            if self.training:
                self.count.lerp_(hit.sum(0), 0.05)
                self.total.lerp_(hit.t() @ z, 0.05)
                self.codes.copy_(self.total / self.count.clamp_min(1e-3)[:, None])
        commit = F.mse_loss(z, q)
        return z + (q - z).detach(), commit


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.vq, self.dec = nn.Linear(6, 4), Quantizer(), nn.Linear(4, 6)

    def forward(self, x):
        z, commit = self.vq(self.enc(x))
        return self.dec(z), commit


def run():
    torch.manual_seed(0)
    model = VAE()
    net = torch.compile(model, backend=BACKEND, fullgraph=True)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(16, 6)
        y, commit = net(x)
        opt.zero_grad()
        (F.mse_loss(y, x) + 0.25 * commit).backward()
        opt.step()
    return start, model.state_dict()


def right(out):
    a, b = out
    assert all(not torch.equal(a[k], b[k]) for k in a)


TRUTH = Truth()
