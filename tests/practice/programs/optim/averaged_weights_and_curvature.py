"""Averaged weights are swapped in with a copied backup, and a curvature estimate clears what it leaves."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMA:
    def __init__(self, model, decay=0.9):
        self.model, self.decay = model, decay
        self.shadow = {n: p.data.clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self):
        for n, p in self.model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)

    def __enter__(self):
        self.backup = {n: p.data.clone() for n, p in self.model.named_parameters()}
        for n, p in self.model.named_parameters():
            p.data.copy_(self.shadow[n])
        return self.model

    def __exit__(self, *unused):
        for n, p in self.model.named_parameters():
            p.data.copy_(self.backup[n])
        self.backup = {}


class Preconditioned(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, beta=0.9):
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def observe(self):
        for group in self.param_groups:
            for p in group["params"]:
                old = self.state[p].setdefault("curvature", torch.zeros_like(p))
                old.mul_(group["beta"]).addcmul_(p.grad, p.grad, value=1 - group["beta"])

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                curvature = self.state[p].get("curvature", torch.zeros_like(p))
                p.sub_(group["lr"] * p.grad / (curvature.sqrt() + 0.1))


def run(steps=6):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 3))
    ema, optimizer = EMA(model), Preconditioned(model.parameters())
    kept = []
    for step in range(steps):
        x, y = torch.randn(10, 8), torch.randint(0, 3, (10,))
        if step % 2 == 0:
            logits = model(x)
            sampled = torch.distributions.Categorical(logits=logits.detach()).sample()
            F.cross_entropy(logits, sampled).backward()
            optimizer.observe()
            optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()
        before = model[0].weight.detach().clone()
        with ema as averaged, torch.no_grad():
            averaged(x).argmax(-1)
        kept.append(torch.equal(before, model[0].weight))
    return kept


TRUTH = Truth()


def verify(kept):
    assert all(kept)
