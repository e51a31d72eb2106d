"""Vision: DANN; the gradient is reversed on purpose, the schedule of its strength changes, and all is right."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.strength, None


class DANN(nn.Module):
    def __init__(self, inp=12, width=16, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(inp, width), nn.BatchNorm1d(width), nn.ReLU())
        self.label_head = nn.Linear(width, classes)
        self.domain_head = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x, strength):
        h = self.features(x)
        return self.label_head(h), self.domain_head(ReverseGradient.apply(h, strength))


def strength_at(step, total):
    return 2 / (1 + math.exp(-10 * step / total)) - 1


def domains(n=16):
    source, target = torch.randn(n, 12), torch.randn(n, 12) * 0.5 + 1
    return source, target, torch.randint(0, 3, (n,))


def run(total=4):
    torch.manual_seed(0)
    model = DANN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    reversed_ = []
    for step in range(1, total + 1):
        source, target, y = domains()
        lam = strength_at(step, total)
        labels, d_source = model(source, lam)
        _, d_target = model(target, lam)
        domain = torch.cat([d_source, d_target])
        truth = torch.cat([torch.zeros(16), torch.ones(16)]).long()
        label_loss, domain_loss = F.cross_entropy(labels, y), F.cross_entropy(domain, truth)

        w = model.features[0].weight
        (through,) = torch.autograd.grad(domain_loss, w, retain_graph=True)
        plain = F.cross_entropy(model.domain_head(torch.cat([model.features(source), model.features(target)])), truth)
        (straight,) = torch.autograd.grad(plain, w)
        reversed_.append(torch.allclose(through, -lam * straight, atol=1e-5))

        optimizer.zero_grad()
        (label_loss + domain_loss).backward()
        optimizer.step()
    return reversed_, before, model.state_dict()


def verify(outcome):
    reversed_, before, after = outcome
    assert all(reversed_)
    assert all(not torch.equal(before[k], after[k]) for k in before)


TRUTH = Truth()
