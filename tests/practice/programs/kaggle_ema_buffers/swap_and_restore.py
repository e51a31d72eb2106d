"""Healthy: EMA of parameters with copied buffers, swapped into the model for validation through .data and swapped back."""

import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ExponentialMovingAverage:
    def __init__(self, params, decay=0.8):
        self.params = list(params)
        self.decay = decay
        self.shadow = [p.detach().clone() for p in self.params]
        self.n = 0

    def update(self):
        self.n += 1
        d = min(self.decay, (1 + self.n) / (10 + self.n))
        with torch.no_grad():
            for s, p in zip(self.shadow, self.params):
                s -= (1 - d) * (s - p)

    @contextlib.contextmanager
    def average_parameters(self):
        backup = [p.data.clone() for p in self.params]
        for p, s in zip(self.params, self.shadow):
            p.data.copy_(s)
        try:
            yield
        finally:
            for p, b in zip(self.params, backup):
                p.data.copy_(b)


class TabTransformerLite(nn.Module):
    def __init__(self, n_num=3, card=4, dim=8):
        super().__init__()
        self.cat = nn.Embedding(card, dim)
        self.num = nn.Linear(n_num, dim)
        self.bn = nn.BatchNorm1d(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, num, cat):
        return self.out(self.bn(self.cat(cat) + self.num(num))).squeeze(-1)


def batch(n):
    num, cat = torch.randn(n, 3), torch.randint(0, 4, (n,))
    return num, cat, num.sum(1) + cat


def run():
    torch.manual_seed(0)
    model = TabTransformerLite()
    ema = ExponentialMovingAverage(model.parameters())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    val = batch(20)
    unchanged = True
    for epoch in range(3):
        model.train()
        num, cat, y = batch(16)
        loss = F.mse_loss(model(num, cat), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update()
        raw = [p.detach().clone() for p in model.parameters()]
        model.eval()
        with torch.no_grad(), ema.average_parameters():
            F.mse_loss(model(val[0], val[1]), val[2])
        unchanged &= all(torch.equal(a, b) for a, b in zip(raw, model.parameters()))
    return start, ema.shadow, unchanged


def verify(outcome):
    start, shadow, unchanged = outcome
    assert unchanged
    assert all(not torch.equal(a, b) for a, b in zip(start, shadow))


TRUTH = Truth()
