"""WGAN: weights clamped in .data, several critic steps per generator step; junk that the generator turn leaves in the critic is cleared first thing."""

import torch
from torch import nn
from tests.practice.truth import Truth

CLIP, N_CRITIC = 0.1, 2
one, minus_one = torch.tensor(1.0), torch.tensor(-1.0)


def nets():
    torch.manual_seed(0)
    g = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    d = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        for p in d.parameters():
            p.mul_(0.3)
    return g, d


def noise(generator, n=8):
    return torch.randn(n, 2, generator=generator), torch.randn(n, 3, generator=generator) + 1


class Wgan:
    def __init__(self, g, d):
        self.g, self.d = g, d
        self.g_opt = torch.optim.RMSprop(g.parameters(), lr=5e-3)
        self.d_opt = torch.optim.RMSprop(d.parameters(), lr=5e-3)
        self.junk = []

    def critic_step(self, z, real):
        self.d.zero_grad()
        self.d(real).mean().backward(minus_one)
        with torch.no_grad():
            fake = self.g(z)
        self.d(fake).mean().backward(one)
        self.d_opt.step()
        for p in self.d.parameters():
            p.data.clamp_(-CLIP, CLIP)

    def generator_step(self, z):
        self.g.zero_grad()
        self.d(self.g(z)).mean().backward(minus_one)
        self.g_opt.step()
        self.junk.append(sum(p.grad.abs().sum().item() for p in self.d.parameters()))


def run():
    gan = Wgan(*nets())
    stream = torch.Generator().manual_seed(5)
    for _ in range(3):
        for _ in range(N_CRITIC):
            gan.critic_step(*noise(stream))
        gan.generator_step(noise(stream)[0])
    return gan


def rms(params, grads, square):
    for i, (p, g) in enumerate(zip(params, grads)):
        square[i] = 0.99 * square[i] + 0.01 * g * g
        p.data = p.data - 5e-3 * g / (square[i].sqrt() + 1e-8)


def verify(gan):
    assert min(gan.junk) > 0
    g, d = nets()
    start = [p.detach().clone() for p in (*g.parameters(), *d.parameters())]
    pg, pd = list(g.parameters()), list(d.parameters())
    sg, sd = [0] * 4, [0] * 4
    stream = torch.Generator().manual_seed(5)
    for _ in range(3):
        for _ in range(N_CRITIC):
            z, real = noise(stream)
            rms(pd, torch.autograd.grad(d(g(z)).mean() - d(real).mean(), pd), sd)
            for p in pd:
                p.data = p.data.clamp(-CLIP, CLIP)
        rms(pg, torch.autograd.grad(-d(g(noise(stream)[0])).mean(), pg), sg)
    got = [*gan.g.parameters(), *gan.d.parameters()]
    for i, (a, b, s) in enumerate(zip(got, (*pg, *pd), start)):
        if i < 7:  # the critic's last bias has no true gradient: the two means cancel
            assert torch.allclose(a, b, atol=1e-4) and not torch.equal(a, s)
    assert all(p.abs().max() <= CLIP for p in gan.d.parameters())


TRUTH = Truth()
