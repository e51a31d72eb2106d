"""Domain adaptation: the reversal layer's backward returns the constant -lambda and never uses grad_output."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, -ctx.strength), None  # cause


class DANN(nn.Module):
    """Machine-fault classes from two kinds of vibration sensors."""

    def __init__(self, bins=12, faults=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(bins, 20), nn.ReLU(), nn.Linear(20, 10), nn.ReLU())
        self.fault = nn.Linear(10, faults)
        self.sensor = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 1))

    def forward(self, x, strength):
        h = self.features(x)
        return self.fault(h), self.sensor(GradientReversal.apply(h, strength)).squeeze(-1), h


def vibration(n, shift):
    y = torch.arange(n) % 3
    x = 0.4 * torch.randn(n, 12) + shift
    x[torch.arange(n), 4 * y] += 2
    return x, y


def dann_loss(model, source, target, strength):
    xs, ys = source
    logits, ds, hs = model(xs, strength)
    _, dt, ht = model(target[0], strength)
    domain = F.binary_cross_entropy_with_logits(
        torch.cat([ds, dt]), torch.cat([torch.zeros(len(ds)), torch.ones(len(dt))])
    )
    return F.cross_entropy(logits, ys), domain, ht


def run():
    torch.manual_seed(0)
    model = DANN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    source, target = vibration(24, 0.0), vibration(24, 0.7)
    cosines = []
    for step in range(3):
        task, domain, h = dann_loss(model, source, target, strength=0.1 * (step + 1))
        h.retain_grad()
        optimizer.zero_grad()
        (task + domain).backward()
        optimizer.step()
        plain = h.detach().requires_grad_(True)
        logit = model.sensor(plain).squeeze(-1)
        F.binary_cross_entropy_with_logits(logit, torch.ones(len(logit))).backward()
        cosines.append(F.cosine_similarity(h.grad.flatten(), -plain.grad.flatten(), dim=0).item())
    return cosines


def verify(outcome):
    assert max(outcome) < 0.9


TRUTH = Truth(
    fault="the backward throws grad_output away: every feature of every example gets the constant -lambda",
    names=("grad_output", "backward"),
    repair=("return -ctx.strength * grad_output, None",),
)
