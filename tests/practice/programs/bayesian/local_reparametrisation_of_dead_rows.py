"""Local reparametrisation: the deviation of an activation is a root, which is 0 where all its inputs are 0."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VariationalLinear(nn.Module):
    def __init__(self, din, dout):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(dout, din) * 0.3)
        self.log_var = nn.Parameter(torch.full((dout, din), -5.0))

    def forward(self, x):
        mean = F.linear(x, self.mean)
        var = F.linear(x**2, self.log_var.exp())
        if not self.training:
            return mean
        return mean + var.sqrt() * torch.randn_like(mean)  # cause

    def divergence(self):
        return 0.5 * (self.log_var.exp() + self.mean**2 - self.log_var - 1).sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = VariationalLinear(6, 8)
        self.second = VariationalLinear(8, 2)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))

    def divergence(self):
        return self.first.divergence() + self.second.divergence()


def run():
    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(32, 6)
    x[torch.rand(32) < 0.2] = 0.0  # rows of which nothing is known
    y = torch.randn(32, 2)
    for beta in (0.0, 0.5):
        opt.zero_grad()
        loss = F.mse_loss(model(x), y) + beta * model.divergence() / 32
        loss.backward()
        opt.step()
    return model.first.log_var


def verify(out):
    assert out.isnan().any()


TRUTH = Truth(
    fault="the derivative of the root at 0 is infinite",
    values=True,
    names=("sqrt",),
    repair=("return mean + (var + 1e-10).sqrt() * torch.randn_like(mean)",),
)
