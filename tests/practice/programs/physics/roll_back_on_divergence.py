"""Physics: a PINN is rolled back when it diverges, but the parameters become views of the snapshot and train it away."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


class PINN(nn.Module):
    """u(t) with u' = -u and u(0) = 1."""

    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, t):
        return 1 + t * self.net(t)

    def residual(self, t):
        t = t.requires_grad_(True)
        u = self(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        return (du + u).pow(2).mean()


class Guard:
    """Keeps the best parameters seen and goes back to them."""

    def __init__(self, model):
        self.model = model
        self.best_loss = float("inf")
        self.best = None

    def observe(self, loss):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best = parameters_to_vector(self.model.parameters()).detach()

    def roll_back(self):
        vector_to_parameters(self.best, self.model.parameters())  # cause


def collocation(n=32):
    return torch.rand(n, 1) * 2


def train(model, guard, optimizer, schedule):
    losses = []
    for lr in schedule:
        for group in optimizer.param_groups:
            group["lr"] = lr
        t = collocation()
        loss = model.residual(t)
        guard.observe(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = PINN()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    guard = Guard(model)
    train(model, guard, optimizer, [1e-3, 1e-3])
    kept = guard.best.clone()
    best_loss = guard.best_loss
    guard.roll_back()
    train(model, guard, optimizer, [3.0, 3.0])  # far too large
    unchanged_record = guard.best_loss == best_loss
    guard.roll_back()
    return kept, parameters_to_vector(model.parameters()).detach(), unchanged_record


def verify(outcome):
    kept, now, unchanged_record = outcome
    assert unchanged_record
    assert not torch.equal(kept, now)


TRUTH = Truth(
    fault="vector_to_parameters makes the parameters views of the snapshot; the optimizer then overwrites the snapshot",
    names=("vector_to_parameters",),
    repair=("vector_to_parameters(self.best.clone(), self.model.parameters())",),
)
