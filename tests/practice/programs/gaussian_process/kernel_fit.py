"""Fit the hyperparameters of a Gaussian process with L-BFGS."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class RBF(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_length = nn.Parameter(torch.tensor(0.0))
        self.log_amp = nn.Parameter(torch.tensor(0.0))
        self.log_noise = nn.Parameter(torch.tensor(-2.0))

    def forward(self, a, b):
        d2 = (a[:, None] - b[None]).pow(2)
        return self.log_amp.exp() * torch.exp(-0.5 * d2 / self.log_length.exp() ** 2)

    def covariance(self, x):
        return self(x, x) + (self.log_noise.exp() + 1e-4) * torch.eye(len(x))


def neg_log_marginal(K, y):
    L = torch.linalg.cholesky(K)
    a = torch.cholesky_solve(y[:, None], L)[:, 0]
    return 0.5 * y @ a + L.diagonal().log().sum() + 0.5 * len(y) * math.log(2 * math.pi)


def fit(kernel, x, y, rounds=3):
    opt = torch.optim.LBFGS(kernel.parameters(), lr=0.3, max_iter=5)
    trace = []
    for _ in range(rounds):
        K = kernel.covariance(x)  # cause

        def closure():
            opt.zero_grad()
            loss = neg_log_marginal(K, y)  # cause
            loss.backward()  # symptom
            return loss

        trace.append(float(opt.step(closure)))
    return trace


def run():
    torch.manual_seed(0)
    x = torch.linspace(0, 4, 25)
    y = torch.sin(2 * x) + 0.1 * torch.randn(25)
    return fit(RBF(), x, y)


TRUTH = Truth(
    fault="the covariance is computed outside the closure that L-BFGS calls several times",
    raises="Trying to backward through the graph a second time",
    names=("K",),
    repair=("", "loss = neg_log_marginal(kernel.covariance(x), y)"),
)


def well(out):
    assert out[-1] < out[0]
