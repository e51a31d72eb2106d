"""BYOL: the target is an EMA of the online network, its BatchNorm runs in train mode and keeps statistics of its own."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

TAU = 0.9


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 6))

    def forward(self, x):
        return self.net(x)


class Byol(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = Encoder()
        self.predictor = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, a, b):
        p1, p2 = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            t1, t2 = self.target(a), self.target(b)
        return (self.regress(p1, t2) + self.regress(p2, t1)).mean()

    @staticmethod
    def regress(p, t):
        return 2 - 2 * F.cosine_similarity(p, t.detach(), dim=-1)

    @torch.no_grad()
    def momentum(self):
        torch._foreach_lerp_(list(self.target.parameters()), list(self.online.parameters()), 1 - TAU)


def run():
    torch.manual_seed(0)
    model = Byol()
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    expected = [p.detach().double() for p in model.target.parameters()]
    start = [p.detach().clone() for p in model.online.parameters()]
    for _ in range(4):
        x = torch.randn(12, 8)
        a, b = x + 0.1 * torch.randn_like(x), x * (torch.rand_like(x) > 0.2)
        loss = model(a, b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.momentum()
        expected = [TAU * e + (1 - TAU) * p.detach().double() for e, p in zip(expected, model.online.parameters())]
    return model, expected, start


def verify(outcome):
    model, expected, start = outcome
    for p, e in zip(model.target.parameters(), expected):
        assert p.grad is None and torch.allclose(p.double(), e, atol=1e-5)
    assert int(model.target.net[1].num_batches_tracked) == 8 == int(model.online.net[1].num_batches_tracked)
    assert all(p.grad is not None for p in model.predictor.parameters())
    moved = [not torch.equal(a, b) for a, b in zip(start, model.online.parameters())]
    assert all(moved)


TRUTH = Truth()
