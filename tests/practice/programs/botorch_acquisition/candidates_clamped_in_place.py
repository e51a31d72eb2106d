"""BoTorch-like, and right: the candidates are the parameters, the model is in eval mode, and bounds are kept through .data."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SurrogateEnsemble(nn.Module):
    """A deep ensemble with dropout, trained first and only queried afterwards."""

    def __init__(self, dim=2, members=3):
        super().__init__()
        self.members = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 24), nn.Tanh(), nn.Dropout(0.05), nn.Linear(24, 1)) for _ in range(members)
        )

    def forward(self, x):
        return torch.stack([m(x).squeeze(-1) for m in self.members])

    def posterior(self, x):
        out = self(x)
        return out.mean(0), (out.var(0) + 1e-6).sqrt()


def fit(model, x, y, steps=4):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(x), y.expand(len(model.members), -1)).backward()
        optimizer.step()
    optimizer.zero_grad()


def upper_confidence_bound(model, x, beta=2.0):
    mean, std = model.posterior(x)
    return mean + beta * std


def optimize_acqf(model, bounds, restarts=5, steps=4):
    model.eval()
    model.requires_grad_(False)
    candidates = (bounds[0] + (bounds[1] - bounds[0]) * torch.rand(restarts, 2)).requires_grad_(True)
    optimizer = torch.optim.Adam([candidates], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -upper_confidence_bound(model, candidates).sum()  # restarts are independent: one sum for all
        loss.backward()
        optimizer.step()
        candidates.data.clamp_(bounds[0], bounds[1])
    model.requires_grad_(True)
    with torch.no_grad():
        best = upper_confidence_bound(model, candidates).argmax()
        return candidates[best].clone()


def run():
    torch.manual_seed(0)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    objective = lambda x: -(x - 0.7).pow(2).sum(-1)
    x = torch.rand(8, 2)
    y = objective(x)
    model = SurrogateEnsemble()
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    found = []
    for _ in range(2):
        fit(model, x, y)
        new = optimize_acqf(model, bounds)
        found.append(new)
        x, y = torch.cat([x, new[None]]), torch.cat([y, objective(new[None])])
    moved = {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}
    return found, moved, len(x)


def verify(outcome):
    found, moved, n = outcome
    assert n == 10
    assert all(0 <= f.min() and f.max() <= 1 for f in found)
    assert all(v > 0 for v in moved.values())


TRUTH = Truth()
