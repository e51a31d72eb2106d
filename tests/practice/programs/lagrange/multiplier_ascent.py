"""Safe dosing: primal descent and dual ascent from one loss by flipping the multiplier's .grad, L-BFGS after it with its own closure. Healthy."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class DoseNet(nn.Module):
    def __init__(self, covariates=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(covariates, 10), nn.Tanh(), nn.Linear(10, 1))

    def forward(self, x):
        return F.softplus(self.net(x)).squeeze(-1)


class Lagrangian:
    """Effect is to be large, while the mean toxicity stays below a limit."""

    def __init__(self, model, limit):
        self.model, self.limit = model, limit
        self.log_multiplier = nn.Parameter(torch.tensor(-1.0))

    def __call__(self, x):
        dose = self.model(x)
        effect = (dose - 1.5 - x[:, 0]).square().mean()
        excess = (0.5 * dose.square()).mean() - self.limit
        return effect + self.log_multiplier.exp() * excess, excess


def alternate(lagrangian, x, steps):
    descend = torch.optim.Adam(lagrangian.model.parameters(), lr=2e-2)
    ascend = torch.optim.SGD([lagrangian.log_multiplier], lr=0.5)
    multipliers = []
    for _ in range(steps):
        descend.zero_grad()
        ascend.zero_grad()
        loss, _ = lagrangian(x)
        loss.backward()
        lagrangian.log_multiplier.grad.neg_()
        descend.step()
        ascend.step()
        multipliers.append(lagrangian.log_multiplier.item())
    return multipliers


def polish(lagrangian, x):
    lagrangian.log_multiplier.requires_grad_(False)
    optimizer = torch.optim.LBFGS(lagrangian.model.parameters(), lr=0.3, max_iter=5, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss, _ = lagrangian(x)
        loss.backward()
        return loss

    first = optimizer.step(closure).item()
    with torch.no_grad():
        return first, lagrangian(x)[0].item()


def run():
    torch.manual_seed(0)
    x = torch.randn(40, 5)
    model = DoseNet()
    lagrangian = Lagrangian(model, limit=0.1)
    start = [p.detach().clone() for p in model.parameters()]
    multipliers = alternate(lagrangian, x, 3)
    return start, list(model.parameters()), multipliers, polish(lagrangian, x)


def verify(outcome):
    start, now, multipliers, (first, last) = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert multipliers[-1] > multipliers[0] > -1.0
    assert last < first


TRUTH = Truth()
