"""Domain adversarial training: the reversal hook computes the reversed gradient and does not return it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Reversal:
    """Turns the gradient round, with a strength that grows during training."""

    def __init__(self, strength=1.0):
        self.strength = strength

    def __call__(self, h):
        if h.requires_grad:
            branch = h.view_as(h)
            branch.register_hook(self.hook)
            return branch
        return h

    def hook(self, grad):
        grad = grad * -self.strength  # cause


class DANN(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, 16), nn.ReLU())
        self.label = nn.Linear(16, 3)
        self.domain = nn.Linear(16, 2)
        self.reverse = Reversal()

    def forward(self, x):
        h = self.features(x)
        return self.label(h), self.domain(self.reverse(h))


def batch():
    source, target = torch.randn(12, 6), torch.randn(12, 6) + 1.0
    x = torch.cat([source, target])
    domain = torch.cat([torch.zeros(12), torch.ones(12)]).long()
    return x, x[:, :3].argmax(1), domain


def run():
    torch.manual_seed(0)
    model = DANN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    signs = []
    for epoch in range(3):
        x, y, d = batch()
        label, domain = model(x)
        first = model.features[0].weight
        adversarial = torch.autograd.grad(F.cross_entropy(domain, d), first, retain_graph=True)[0]
        plain = torch.autograd.grad(F.cross_entropy(model.domain(model.features(x)), d), first)[0]
        signs.append((adversarial * plain).sum().sign().item())
        loss = F.cross_entropy(label[:12], y[:12]) + F.cross_entropy(domain, d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return signs


def verify(outcome):
    assert outcome == [1.0, 1.0, 1.0]


TRUTH = Truth(
    fault="the tensor hook has no return, so the gradient passes unreversed",
    names=("hook",),
    repair=("return grad * -self.strength",),
)
