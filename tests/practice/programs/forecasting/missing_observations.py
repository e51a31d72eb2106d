"""Sensor series with gaps: missing targets are masked out of the likelihood, and the weights are NaN after one step."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class DeepARCell(nn.Module):
    """An autoregressive Gaussian forecaster."""

    def __init__(self, covariates=2, hidden=12):
        super().__init__()
        self.rnn = nn.GRU(1 + covariates, hidden, batch_first=True)
        self.mu = nn.Linear(hidden, 1)
        self.presigma = nn.Linear(hidden, 1)

    def forward(self, previous, covariates):
        h, _ = self.rnn(torch.cat([previous.unsqueeze(-1), covariates], -1))
        return self.mu(h).squeeze(-1), nn.functional.softplus(self.presigma(h)).squeeze(-1) + 1e-3


def gaussian_nll(mu, sigma, target):
    return 0.5 * ((target - mu) / sigma) ** 2 + sigma.log() + 0.5 * math.log(2 * math.pi)


def masked_nll(mu, sigma, target):
    """Average over what was observed."""
    observed = ~torch.isnan(target)
    nll = torch.where(observed, gaussian_nll(mu, sigma, target), 0.0)  # cause
    return nll.sum() / observed.sum().clamp(min=1)


def sensor_batch(n=6, length=14):
    t = torch.rand(n, 1) * 6 + torch.arange(length + 1) * 0.35
    series = torch.sin(t) + 0.1 * torch.randn(n, length + 1)
    series[torch.rand_like(series) < 0.15] = float("nan")
    covariates = torch.stack([torch.sin(t[:, 1:] * 0.5), torch.cos(t[:, 1:] * 0.5)], -1)
    return series[:, :-1].nan_to_num(0.0), covariates, series[:, 1:]


def run(steps=3):
    torch.manual_seed(0)
    model = DeepARCell()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    for step in range(steps):
        previous, covariates, target = sensor_batch()
        mu, sigma = model(previous, covariates)
        loss = masked_nll(mu, sigma, target)
        optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        history.append(loss.item())
        print(f"step {step} nll {history[-1]:.4f}")
    return history


def verify(history):
    assert math.isfinite(history[0]) and math.isnan(history[1])


TRUTH = Truth(
    values=True,
    fault="where() hides NaN from the value only: the gradient of the branch not taken is 0 * NaN",
    names=("where",),
    repair=("nll = torch.where(observed, gaussian_nll(mu, sigma, target.nan_to_num(0.0)), 0.0)",),
)
