"""Domain-adversarial training with a reversal layer written in plain arithmetic."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


def reverse(x, strength):
    return -strength * x + (1 + strength) * x  # cause


class DANN(nn.Module):
    def __init__(self, d=6, width=16, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width))
        self.label = nn.Linear(width, classes)
        self.domain = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x, strength):
        h = self.features(x)
        return self.label(h), self.domain(reverse(h, strength)).squeeze(-1), h


def schedule(step, total):
    return 2 / (1 + math.exp(-10 * step / total)) - 1


def train(model, source, target, steps=5):
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    signs = []
    for step in range(1, steps + 1):
        lam = schedule(step, steps)
        (xs, ys), xt = source(), target()
        cls, dom_s, hs = model(xs, lam)
        _, dom_t, ht = model(xt, lam)
        domain_loss = F.binary_cross_entropy_with_logits(
            torch.cat([dom_s, dom_t]), torch.cat([torch.ones(len(xs)), torch.zeros(len(xt))])
        )
        loss = F.cross_entropy(cls, ys) + domain_loss
        (through,) = torch.autograd.grad(domain_loss, ht, retain_graph=True)
        (direct,) = (
            torch.autograd.grad(
                F.binary_cross_entropy_with_logits(model.domain(ht).squeeze(-1), torch.zeros(len(xt))), ht
            )
            if False
            else (through,)
        )
        plain = ht.detach().requires_grad_(True)
        F.binary_cross_entropy_with_logits(model.domain(plain).squeeze(-1), torch.zeros(len(xt))).backward()
        signs.append((through * plain.grad).sum().item())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return signs


def run():
    torch.manual_seed(0)
    source = lambda: (torch.randn(16, 6), torch.randint(0, 3, (16,)))
    target = lambda: torch.randn(16, 6) + 1.5
    return train(DANN(), source, target)


TRUTH = Truth(
    fault="nothing is detached in the reversal: forward and gradient are both the identity",
    names=("reverse",),
    values=True,
    repair=("return -strength * x + ((1 + strength) * x).detach()",),
)


def well(out):
    assert max(out) < 0


verify = fails(well)
