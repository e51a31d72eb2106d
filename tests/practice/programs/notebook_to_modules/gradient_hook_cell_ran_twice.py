"""Notebook to module: the cell with the gradient-reversal hook is now called by two setup functions; two reversals cancel."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.strength * gradient, None


class DomainAdapter(nn.Module):
    def __init__(self, features=6, dim=8, classes=3):
        super().__init__()
        self.extract = nn.Sequential(nn.Linear(features, dim), nn.Tanh())
        self.bridge = nn.Identity()
        self.label = nn.Linear(dim, classes)
        self.domain = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.extract(x)
        return self.label(h), self.domain(self.bridge(h))


def install_reversal(model, strength=1.0):
    """cell 7"""
    model.bridge.register_forward_hook(lambda module, args, output: Reverse.apply(output, strength))  # also


def prepare_model():
    model = DomainAdapter()
    install_reversal(model)
    return model


def prepare_training(model):
    install_reversal(model)  # cause
    return torch.optim.SGD(model.parameters(), lr=0.05)


def run():
    torch.manual_seed(0)
    model = prepare_model()
    optimizer = prepare_training(model)
    for _ in range(3):
        x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
        domain = torch.randint(0, 2, (10,))
        labels, domains = model(x)
        loss = F.cross_entropy(labels, y) + F.cross_entropy(domains, domain)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = torch.randn(10, 6)
    h = model.extract(x).detach().requires_grad_()
    (through,) = torch.autograd.grad(model.domain(model.bridge(h)).square().sum(), h)
    (plain,) = torch.autograd.grad(model.domain(h).square().sum(), h)
    return through, plain


def verify(outcome):
    through, plain = outcome
    assert torch.allclose(through, plain)


TRUTH = Truth(
    fault="the gradient reversal hook is registered twice; the domain gradient reaches the extractor unreversed",
    names=("bridge",),
    repair=("model.train()",),
)
