"""Beta-NLL for a dose with its variance: the weight `var ** beta` is not detached, so it is minimised along."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class DoseNet(nn.Module):
    """Predicts the mean dose of a structure and how sure it is."""

    def __init__(self, features=6, hidden=16):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.mean = nn.Linear(hidden, 1)
        self.scale = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h).squeeze(1), F.softplus(self.scale(h)).squeeze(1) + 1e-4


class BetaNLL(nn.Module):
    """Seitzer et al. 2022: each sample's NLL is weighted by its variance to the power of beta."""

    def __init__(self, beta=0.5):
        super().__init__()
        self.beta = beta

    def forward(self, mean, var, target):
        nll = 0.5 * ((target - mean) ** 2 / var + var.log())
        if self.beta > 0:
            nll = nll * var**self.beta  # cause
        return nll.mean()


def calibration(mean, var, target):
    z = (target - mean) / var.sqrt()
    return (z.abs() < 1).float().mean().item()


def run():
    torch.manual_seed(0)
    model, criterion = DoseNet(), BetaNLL()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    x = torch.randn(64, 6)
    y = x[:, 0] + x[:, 1].exp() * 0.3 * torch.randn(64)
    for epoch in range(3):
        for xb, yb in zip(x.split(16), y.split(16)):
            opt.zero_grad()
            loss = criterion(*model(xb), yb)
            loss.backward()  # symptom
            opt.step()
        with torch.no_grad():
            mean, var = model(x)
            print(f"epoch {epoch} loss {loss.item():.4f} within one sigma {calibration(mean, var, y):.2f}")
    return criterion, mean, var, y


def verify(out):
    criterion, mean, var, y = out
    var = var.clone().requires_grad_(True)
    (got,) = torch.autograd.grad(criterion(mean, var, y), var)
    nll = 0.5 * ((y - mean) ** 2 / var + var.log()) * var.detach() ** criterion.beta
    (want,) = torch.autograd.grad(nll.mean(), var)
    assert not torch.allclose(got, want)


TRUTH = Truth(
    fault="the weights of the samples' losses are minimised with them",
    names=("var", "detach"),
    repair=("nll = nll * var.detach() ** self.beta",),
)
