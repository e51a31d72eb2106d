"""A normalizing flow of torch.distributions: the cached inverse of the full batch is that of the step before."""

import torch
from torch import nn
from torch.distributions import Independent, Normal, TransformedDistribution, constraints
from torch.distributions.transforms import Transform

from tests.practice.truth import Truth


class AffineCoupling(Transform):
    """Changes one half of the features, given the other."""

    domain = constraints.independent(constraints.real, 1)
    codomain = constraints.independent(constraints.real, 1)
    bijective = True

    def __init__(self, net, flip, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.net, self.flip = net, flip

    def _split(self, x):
        a, b = x.chunk(2, -1)
        return (b, a) if self.flip else (a, b)

    def _join(self, a, b):
        return torch.cat((b, a) if self.flip else (a, b), -1)

    def _shift_scale(self, a):
        shift, log_scale = self.net(a).chunk(2, -1)
        return shift, torch.tanh(log_scale)

    def _call(self, x):
        a, b = self._split(x)
        shift, log_scale = self._shift_scale(a)
        return self._join(a, b * log_scale.exp() + shift)

    def _inverse(self, y):
        a, b = self._split(y)
        shift, log_scale = self._shift_scale(a)
        return self._join(a, (b - shift) * (-log_scale).exp())

    def log_abs_det_jacobian(self, x, y):
        return self._shift_scale(self._split(y)[0])[1].sum(-1)


class RealNVP(nn.Module):
    def __init__(self, dim, hidden=16, layers=3):
        super().__init__()
        half = dim // 2
        self.nets = nn.ModuleList(
            [nn.Sequential(nn.Linear(half, hidden), nn.Tanh(), nn.Linear(hidden, 2 * half)) for _ in range(layers)]
        )
        self.register_buffer("loc", torch.zeros(dim))
        transforms = [AffineCoupling(net, flip=i % 2 == 1, cache_size=1) for i, net in enumerate(self.nets)]  # cause
        base = Independent(Normal(self.loc, torch.ones(dim)), 1)
        self.flow = TransformedDistribution(base, transforms)

    def log_prob(self, x):
        return self.flow.log_prob(x)


def two_moons(n):
    t = torch.rand(n) * torch.pi
    side = (torch.rand(n) < 0.5).float()
    x = torch.stack((torch.cos(t) * (1 - 2 * side) + side, torch.sin(t) * (1 - 2 * side) + 0.5 * side), 1)
    return x + 0.05 * torch.randn(n, 2)


def fit(model, x, steps=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        loss = -model.log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    return fit(RealNVP(2), two_moons(32))


TRUTH = Truth(
    fault="cache_size=1 keeps the inverse of the same batch object: the next step walks the freed graph of the last",
    raises="Trying to backward through the graph a second time",
    names=("cache_size",),
    repair=("transforms = [AffineCoupling(net, flip=i % 2 == 1) for i, net in enumerate(self.nets)]",),
)
