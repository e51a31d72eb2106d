"""Notebook to module: in the notebook the model cell ran before the optimizer cell; setup functions call it once more, after the optimizer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

STATE = {}


class Forecaster(nn.Module):
    def __init__(self, window=6, hidden=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(window, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def cell_model():
    torch.manual_seed(3)
    STATE["model"] = Forecaster()


def cell_optimizer():
    STATE["optimizer"] = torch.optim.Adam(STATE["model"].parameters(), lr=1e-2)


def cell_reproducible_start():
    """From the notebook's "run this again for a fresh start"."""
    cell_model()  # cause


def cell_train(epochs=3):
    model, optimizer = STATE["model"], STATE["optimizer"]
    for _ in range(epochs):
        x = torch.randn(16, 6).cumsum(dim=1)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x[:, -1])
        loss.backward()
        optimizer.step()


def main():
    cell_model()
    cell_optimizer()
    cell_reproducible_start()
    before = STATE["model"].net[0].weight.detach().clone()
    cell_train()
    return before, STATE["model"].net[0].weight


def run():
    torch.manual_seed(0)
    return main()


def verify(outcome):
    before, weight = outcome
    assert weight.grad is not None and torch.equal(before, weight.detach())


TRUTH = Truth(
    fault="the optimizer holds the parameters of the first model; the one that is trained was made afterwards",
    names=("optimizer",),
    repair=("cell_model()\ncell_optimizer()",),
)
