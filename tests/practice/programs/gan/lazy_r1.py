"""GAN step in the style of StyleGAN: switched gradients, averaged generator, lazy R1."""

import copy

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Loop:
    def __init__(self, z=4, x=6, r1_every=4, gamma=0.5):
        self.G = nn.Sequential(nn.Linear(z, 24), nn.LeakyReLU(0.2), nn.Linear(24, x))
        self.D = nn.Sequential(nn.Linear(x, 24), nn.Softplus(), nn.Linear(24, 1))
        self.G_ema = copy.deepcopy(self.G).eval().requires_grad_(False)
        self.z, self.r1_every, self.gamma = z, r1_every, gamma
        self.g_opt = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.d_opt = torch.optim.Adam(self.D.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.penalties = []

    def g_step(self, n):
        self.D.requires_grad_(False)
        self.G.requires_grad_(True)
        loss = F.softplus(-self.D(self.G(torch.randn(n, self.z)))).mean()
        self.g_opt.zero_grad(set_to_none=True)
        loss.backward()
        self.g_opt.step()
        with torch.no_grad():
            for e, p in zip(self.G_ema.parameters(), self.G.parameters()):
                e.copy_(p.lerp(e, 0.95))

    def d_step(self, real, i):
        self.D.requires_grad_(True)
        self.G.requires_grad_(False)
        fake = self.G(torch.randn(len(real), self.z))
        loss = F.softplus(self.D(fake)).mean() + F.softplus(-self.D(real)).mean()
        self.d_opt.zero_grad(set_to_none=True)
        loss.backward()
        if i % self.r1_every == 0:
            x = real.detach().requires_grad_(True)
            (g,) = torch.autograd.grad(self.D(x).sum(), x, create_graph=True)
            r1 = g.pow(2).sum(1).mean()
            (0.5 * self.gamma * self.r1_every * r1).backward()
            self.penalties.append(r1.item())
        self.d_opt.step()


def run():
    torch.manual_seed(0)
    loop = Loop()
    before = copy.deepcopy((loop.G.state_dict(), loop.D.state_dict(), loop.G_ema.state_dict()))
    for i in range(8):
        loop.g_step(8)
        loop.d_step(torch.randn(8, 6) + 1, i)
    return before, (loop.G.state_dict(), loop.D.state_dict(), loop.G_ema.state_dict()), loop.penalties


TRUTH = Truth()


def verify(out):
    before, after, penalties = out
    for a, b in zip(before, after):
        assert all(not torch.equal(a[k], b[k]) for k in a)
    assert len(penalties) == 2
