"""Bayes by backprop: sigma = softplus(rho) is computed once and kept, its graph is gone after the first backward."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class BayesLinear(nn.Module):
    def __init__(self, i, o, prior_sigma=1.0, rho=-3.0):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(o, i).uniform_(-1, 1) / math.sqrt(i))
        self.rho = nn.Parameter(torch.full((o, i), rho))
        self.bias = nn.Parameter(torch.zeros(o))
        self.prior_sigma = prior_sigma
        self._sigma = None

    @property
    def sigma(self):
        if self._sigma is None:
            self._sigma = F.softplus(self.rho)  # cause
        return self._sigma

    def forward(self, x):
        # local reparameterisation: sample the activations, not the weights
        mean = F.linear(x, self.mu, self.bias)
        var = F.linear(x.square(), self.sigma.square())
        if not self.training:
            return mean
        return mean + var.clamp(min=1e-10).sqrt() * torch.randn_like(mean)

    def kl(self):
        s2, p2 = self.sigma.square(), self.prior_sigma**2
        return 0.5 * ((self.mu.square() + s2) / p2 - 1 - torch.log(s2 / p2)).sum()


class BayesNet(nn.Module):
    def __init__(self, width=5, hidden=16):
        super().__init__()
        self.fc1, self.fc2 = BayesLinear(width, hidden), BayesLinear(hidden, 1)
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)

    def kl(self):
        return sum(m.kl() for m in self.modules() if isinstance(m, BayesLinear))


def negative_elbo(model, x, y, n_train):
    pred = model(x)
    var = (2 * model.log_noise).exp()
    nll = 0.5 * ((y - pred).square() / var + torch.log(2 * math.pi * var)).mean()
    return nll + model.kl() / n_train


def run():
    torch.manual_seed(0)
    model = BayesNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        x = torch.randn(32, 5)
        y = torch.sin(x[:, 0]) + 0.1 * torch.randn(32)
        loss = negative_elbo(model, x, y, n_train=320)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="the cached sigma belongs to the graph of the first step, which backward has freed",
    raises="Trying to backward through the graph a second time",
    names=("sigma", "rho"),
    repair=("return F.softplus(self.rho)",),
)
