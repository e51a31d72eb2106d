"""Graph energy model: parametrize.cached() spans the whole training loop, so the forward keeps using the first weight."""

import torch
from torch import nn
from torch.nn.utils import parametrize

from tests.practice.truth import Truth


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


class IsingEnergy(nn.Module):
    """x W x + b x with symmetric couplings."""

    def __init__(self, spins):
        super().__init__()
        self.coupling = nn.Linear(spins, spins, bias=False)
        parametrize.register_parametrization(self.coupling, "weight", Symmetric())
        self.field = nn.Parameter(torch.zeros(spins))

    def conditional(self, x):
        return 2 * self.coupling(x) + self.field

    def pseudo_likelihood(self, x):
        return nn.functional.softplus(-2 * x * self.conditional(x)).sum(1).mean()


def samples(n, spins):
    x = torch.randn(n, spins).sign()
    x[:, 1] = x[:, 0]
    x[:, 3] = -x[:, 2]
    return x


def train(model, data, optimizer, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.pseudo_likelihood(data)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = IsingEnergy(6)
    data = samples(64, 6)
    optimizer = torch.optim.SGD([model.coupling.parametrizations.weight.original], lr=0.02)
    with parametrize.cached():  # the weight is asked for often: once in each step is enough  # cause
        losses = train(model, data, optimizer, 4)
    return losses


def verify(outcome):
    assert len(set(outcome)) == 1


TRUTH = Truth(
    fault="the cache lives through optimizer.step(): every forward uses the weight of the first step",
    names=("cached", "coupling"),
    repair=("if True:",),
)
