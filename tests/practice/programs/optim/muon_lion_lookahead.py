"""Muon (orthogonalised momentum, Newton-Schulz) for matrices, foreach-Lion for the rest, Lookahead slow weights over both."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if flip else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                buf = self.state[p].setdefault("buf", torch.zeros_like(p))
                buf.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp_(buf, group["momentum"])  # Nesterov, written into .grad
                p.add_(newton_schulz(update), alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=3e-3, betas=(0.9, 0.99)):
        super().__init__(params, dict(lr=lr, betas=betas))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            ps, (b1, b2) = group["params"], group["betas"]
            ms = [self.state[p].setdefault("m", torch.zeros_like(p)) for p in ps]
            signs = torch._foreach_mul(ms, b1)
            torch._foreach_add_(signs, [p.grad for p in ps], alpha=1 - b1)
            torch._foreach_add_(ps, torch._foreach_sign(signs), alpha=-group["lr"])
            torch._foreach_lerp_(ms, [p.grad for p in ps], 1 - b2)


class Lookahead:
    def __init__(self, params, optimizers, k=2, alpha=0.5):
        self.fast, self.optimizers, self.k, self.alpha, self.count = list(params), optimizers, k, alpha, 0
        self.slow = [p.detach().clone() for p in self.fast]

    def step(self):
        for o in self.optimizers:
            o.step()
        self.count += 1
        if self.count % self.k == 0:
            torch._foreach_lerp_(self.slow, [p.data for p in self.fast], self.alpha)
            for p, s in zip(self.fast, self.slow):
                p.data.copy_(s)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).double()


def data():
    g = torch.Generator().manual_seed(4)
    return [(torch.randn(10, 5, generator=g).double(), torch.randint(3, (10,), generator=g)) for _ in range(4)]


def run():
    model = build()
    opt = Lookahead(
        model.parameters(),
        [Muon([p for p in model.parameters() if p.ndim == 2]), Lion([p for p in model.parameters() if p.ndim < 2])],
    )
    for x, y in data():
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model


def verify(model):
    plain = build()
    params = list(plain.parameters())
    start = [p.detach().clone() for p in params]
    slow, m = [s.clone() for s in start], [torch.zeros_like(s) for s in start]
    for t, (x, y) in enumerate(data(), start=1):
        for i, (p, g) in enumerate(zip(params, torch.autograd.grad(F.cross_entropy(plain(x), y), params))):
            if p.ndim == 2:
                m[i] = 0.9 * m[i] + 0.1 * g
                p.data = p.data - 0.02 * max(1, p.shape[0] / p.shape[1]) ** 0.5 * newton_schulz(0.1 * g + 0.9 * m[i])
            else:
                p.data = p.data - 3e-3 * (0.9 * m[i] + 0.1 * g).sign()
                m[i] = 0.99 * m[i] + 0.01 * g
            if t % 2 == 0:
                slow[i] = (slow[i] + p.data) / 2
                p.data = slow[i].clone()
    for a, b, s in zip(model.parameters(), params, start):
        assert torch.allclose(a, b, atol=1e-6) and not torch.equal(a, s)


TRUTH = Truth()
