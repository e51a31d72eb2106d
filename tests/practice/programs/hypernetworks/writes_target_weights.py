"""Hypernetwork: the generated weights are put into the target network as new Parameters, which ends their graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TargetNet(nn.Module):
    """A small implicit image: coordinates -> grey value."""

    def __init__(self, hidden=8):
        super().__init__()
        self.first = nn.Linear(2, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, xy):
        return self.last(torch.sin(5 * self.first(xy))).squeeze(-1)


class HyperNet(nn.Module):
    def __init__(self, target, code=6):
        super().__init__()
        self.shape = target.first.weight.shape
        self.generate = nn.Sequential(nn.Linear(code, 16), nn.ReLU(), nn.Linear(16, self.shape.numel()))

    def forward(self, code):
        return self.generate(code).view(self.shape)


class ImplicitImages:
    def __init__(self):
        self.target = TargetNet()
        self.hyper = HyperNet(self.target)
        self.codes = nn.Embedding(4, 6)

    def parameters(self):
        yield from self.hyper.parameters()
        yield from self.codes.parameters()
        yield from self.target.last.parameters()

    def render(self, image, xy):
        weight = self.hyper(self.codes(torch.tensor(image)))
        self.target.first.weight = nn.Parameter(weight)  # cause
        return self.target(xy)


def run():
    torch.manual_seed(0)
    model = ImplicitImages()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    axis = torch.linspace(-1, 1, 5)
    xy = torch.cartesian_prod(axis, axis)
    images = torch.rand(4, 25)
    before = [p.detach().clone() for p in model.hyper.parameters()]
    for _ in range(3):
        loss = sum(F.mse_loss(model.render(i, xy), images[i]) for i in range(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, [p.detach() for p in model.hyper.parameters()]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(a, b) for a, b in zip(before, after))


TRUTH = Truth(
    fault="nn.Parameter(weight) is a new leaf; no gradient reaches the hypernetwork or the codes",
    names=("hyper", "Parameter"),
    repair=("self.target.first._parameters.pop('weight', None)\nself.target.first.weight = weight",),
)
