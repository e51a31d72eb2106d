"""GAN with one forward of G per round: D learns on fake.detach(), then G learns through the same fake and a frozen, updated D."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def r1(real_logits, real):
    (g,) = torch.autograd.grad(real_logits.sum(), real, create_graph=True)
    return g.pow(2).sum(1).mean()


class Trainer:
    def __init__(self, lazy=2):
        self.g, self.d = mlp(3, 16, 2), mlp(2, 16, 1)
        self.g_opt = torch.optim.Adam(self.g.parameters(), 1e-3, betas=(0.0, 0.99))
        self.d_opt = torch.optim.Adam(self.d.parameters(), 4e-3, betas=(0.0, 0.99))
        self.lazy, self.round = lazy, 0

    def step(self, real, z):
        fake = self.g(z)
        regularise = self.round % self.lazy == 0
        real = real.detach().requires_grad_(regularise)
        real_logits = self.d(real)
        loss = F.softplus(-real_logits).mean() + F.softplus(self.d(fake.detach())).mean()
        if regularise:
            loss = loss + 0.5 * self.lazy * r1(real_logits, real)
        self.d_opt.zero_grad(set_to_none=True)
        loss.backward(inputs=list(self.d.parameters()))
        self.d_opt.step()

        self.d.requires_grad_(False)
        self.g_opt.zero_grad(set_to_none=True)
        F.softplus(-self.d(fake)).mean().backward()
        self.d.requires_grad_(True)
        g_grads = [p.grad.clone() for p in self.g.parameters()]
        wanted = torch.autograd.grad(F.softplus(-self.d(self.g(z))).mean(), list(self.g.parameters()))
        self.g_opt.step()
        self.round += 1
        return real.grad, g_grads, wanted


def run():
    torch.manual_seed(0)
    t = Trainer()
    nets = nn.ModuleList([t.g, t.d])
    start = [p.detach().clone() for p in nets.parameters()]
    log = [t.step(torch.randn(16, 2) + 1, torch.randn(16, 3)) for _ in range(4)]
    return log, start, [p.detach().clone() for p in nets.parameters()]


def verify(outcome):
    log, start, end = outcome
    for real_grad, got, wanted in log:
        assert real_grad is None
        assert all(torch.allclose(a, b, atol=1e-7) for a, b in zip(got, wanted))
        assert sum(g.abs().sum() for g in got) > 0
    assert all(not torch.equal(a, b) for a, b in zip(start, end))


TRUTH = Truth()
