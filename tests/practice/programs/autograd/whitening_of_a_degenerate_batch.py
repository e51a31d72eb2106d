"""Whitening by eigh: equal eigenvalues of the regularised covariance make the gradient NaN, the guard skips every step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ZCAWhitening(nn.Module):
    def __init__(self, eps=1e-3):
        super().__init__()
        self.eps = eps

    def forward(self, h):
        h = h - h.mean(0)
        covariance = h.T @ h / (len(h) - 1)
        covariance = covariance + self.eps * torch.eye(h.shape[1])
        values, vectors = torch.linalg.eigh(covariance)  # cause
        return h @ (vectors * values.rsqrt()) @ vectors.T


class WhitenedNet(nn.Module):
    """More features than samples in a batch: the covariance has a null space."""

    def __init__(self, dim=5, width=6):
        super().__init__()
        self.embed = nn.Linear(dim, width)
        self.white = ZCAWhitening()
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        h = torch.relu(self.embed(x))
        h = torch.cat([h, torch.zeros(len(h), 2)], 1)  # room for side features, not used yet
        return self.head(self.white(h)[:, : self.embed.out_features])


class GuardedStep:
    """Leaves out steps whose gradients are not finite, as a loss scaler would."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.done = self.skipped = 0

    def __call__(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        if all(torch.isfinite(p.grad).all() for p in self.model.parameters()):
            self.optimizer.step()
            self.done += 1
        else:
            self.skipped += 1


def run():
    torch.manual_seed(0)
    model = WhitenedNet()
    step = GuardedStep(model, torch.optim.Adam(model.parameters(), lr=1e-2))
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        x = torch.randn(24, 5)
        step(F.cross_entropy(model(x), (x[:, 0] > 0).long()))
    return step.done, step.skipped, [torch.equal(a, b) for a, b in zip(before, model.parameters())]


def verify(outcome):
    done, skipped, same = outcome
    assert done == 0 and skipped == 3 and all(same)


TRUTH = Truth(
    fault="eigh's gradient divides by differences of eigenvalues, two of which are equal; all steps are skipped",
    names=("eigh",),
    values=True,
    repair=("values, vectors = torch.linalg.eigh(covariance + torch.diag(torch.linspace(0, 1e-3, len(covariance))))",),
)
