"""Domain-adversarial training: a layer that reverses its gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.strength * g, None


class DANN(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.feat = nn.Sequential(nn.Linear(d, 10), nn.ReLU())
        self.label, self.domain = nn.Linear(10, 2), nn.Linear(10, 2)

    def forward(self, x):
        h = self.feat(x)
        return self.label(h), self.domain(Reverse.apply(h, 0.5))


def run():
    torch.manual_seed(0)
    model = DANN()
    net = torch.compile(model, backend=BACKEND)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        where = torch.arange(16) % 2
        y, d = net(x + where[:, None])
        half = where == 0
        loss = F.cross_entropy(y[half], (x[half, 0] > 0).long()) + F.cross_entropy(d, where)
        opt.zero_grad()
        loss.backward()
        opt.step()
    x = torch.randn(8, 6)
    want = torch.autograd.grad(-0.5 * model.domain(model.feat(x)).square().sum(), model.feat[0].weight)[0]
    got = torch.autograd.grad(net(x)[1].square().sum(), model.feat[0].weight)[0]
    return want, got


def right(out):
    assert torch.allclose(*out, atol=1e-5)


TRUTH = Truth()
