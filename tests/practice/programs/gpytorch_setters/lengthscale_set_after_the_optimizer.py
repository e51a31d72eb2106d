"""GPyTorch-like: the lengthscale's setter makes a new Parameter, after the optimizer has taken the old one."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def inv_softplus(x):
    return x + torch.log(-torch.expm1(-x))


class RBFKernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.zeros(1))
        self.raw_outputscale = nn.Parameter(torch.zeros(1))

    @property
    def lengthscale(self):
        return F.softplus(self.raw_lengthscale)

    @lengthscale.setter
    def lengthscale(self, value):
        self.raw_lengthscale = nn.Parameter(inv_softplus(torch.as_tensor([float(value)])))  # cause

    def forward(self, a, b):
        d = (a[:, None] - b[None]).pow(2).sum(-1)
        return F.softplus(self.raw_outputscale) * torch.exp(-0.5 * d / self.lengthscale**2)


class ExactGP(nn.Module):
    def __init__(self):
        super().__init__()
        self.covar_module = RBFKernel()
        self.raw_noise = nn.Parameter(torch.tensor(-1.0))
        self.mean = nn.Parameter(torch.zeros(()))

    def neg_mll(self, x, y):
        k = self.covar_module(x, x) + (F.softplus(self.raw_noise) + 1e-4) * torch.eye(len(x))
        chol = torch.linalg.cholesky(k)
        r = (y - self.mean).unsqueeze(1)
        quad = (r * torch.cholesky_solve(r, chol)).sum()
        return 0.5 * (quad + 2 * chol.diagonal().log().sum() + len(x) * math.log(2 * math.pi)) / len(x)


def median_heuristic(x):
    return torch.pdist(x).median()


def fit(model, optimizer, x, y, steps):
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.neg_mll(x, y)
        loss.backward()
        optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = ExactGP()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    lengths = []
    x = torch.rand(10, 2)
    for _ in range(2):  # a Bayesian optimisation loop: new points, warm restart, fit
        x = torch.cat([x, torch.rand(2, 2)])
        y = (6 * x[:, 0]).sin() + x[:, 1]
        model.covar_module.lengthscale = median_heuristic(x)
        start = model.covar_module.lengthscale.item()
        fit(model, optimizer, x, y, steps=3)
        lengths.append((start, model.covar_module.lengthscale.item()))
    return lengths


def verify(outcome):
    assert all(start == end for start, end in outcome)


TRUTH = Truth(
    fault="the setter replaces raw_lengthscale by a new Parameter which the optimizer does not hold: it stays at the heuristic's value",
    names=("raw_lengthscale",),
    repair=("self.raw_lengthscale.data.copy_(inv_softplus(torch.as_tensor([float(value)])))",),
)
