"""A gradient reversal layer whose strength grows from zero; domains of the target need no labels of classes."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.lambd, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
        self.label, self.domain = nn.Linear(8, 3), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x, lambd):
        f = self.features(x)
        return self.label(f), self.domain(GradReverse.apply(f, lambd))


def run():
    torch.manual_seed(0)
    model = DANN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    log = []
    for step in range(4):
        lambd = 2.0 / (1.0 + math.exp(-10 * step / 4)) - 1
        xs, ys, xt = torch.randn(8, 6), torch.randint(3, (8,)), torch.randn(8, 6) + 0.5
        class_s, domain_s = model(xs, lambd)
        _, domain_t = model(xt, lambd)
        err_label = F.cross_entropy(class_s, ys)
        err_domain = F.cross_entropy(domain_s, torch.zeros(8).long()) + F.cross_entropy(domain_t, torch.ones(8).long())
        err = err_label + err_domain
        optimizer.zero_grad()
        err.backward()
        optimizer.step()
        log.append((lambd, err_label.item(), err_domain.item()))
    return model, log


TRUTH = Truth()


def verify(out):
    model, log = out
    assert log[0][0] == 0 and log[-1][0] > 0.9
    assert all(p.grad.abs().sum() > 0 for p in model.parameters()) and all(0 < v < 100 for row in log for v in row[1:])
