"""Bayes by Backprop: every layer adds its divergence to an attribute, which nobody sets back between the batches."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BayesLinear(nn.Module):
    def __init__(self, din, dout, prior=0.5):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(dout, din) * 0.1)
        self.rho = nn.Parameter(torch.full((dout, din), -3.0))
        self.bias = nn.Parameter(torch.zeros(dout))
        self.prior = prior
        self.kl = 0.0

    def forward(self, x):
        sigma = F.softplus(self.rho)
        weight = self.mu + sigma * torch.randn_like(sigma)
        gap = (sigma**2 + self.mu**2) / (2 * self.prior**2) - torch.log(sigma / self.prior) - 0.5
        self.kl = self.kl + gap.sum()  # cause
        return F.linear(x, weight, self.bias)


class BayesNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = BayesLinear(4, 10), BayesLinear(10, 3)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))

    @property
    def kl(self):
        return sum(module.kl for module in self.modules() if isinstance(module, BayesLinear))


def run():
    torch.manual_seed(0)
    model = BayesNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = torch.randn(48, 4), torch.randint(3, (48,))
    for batch, target in zip(x.split(16), y.split(16)):
        opt.zero_grad()
        loss = F.cross_entropy(model(batch), target) + model.kl / 48
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the divergence of the first batch is still in the second one's loss, its graph is freed",
    raises="Trying to backward through the graph a second time",
    names=("kl",),
    repair=("self.kl = gap.sum()",),
)
