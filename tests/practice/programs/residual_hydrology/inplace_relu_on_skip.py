"""Rainfall-runoff: an in-place ReLU at the head of a pre-activation block also rewrites the skip connection's input."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PreActBlock(nn.Module):
    def __init__(self, dim, inplace):
        super().__init__()
        self.body = nn.Sequential(
            nn.ReLU(inplace=inplace), nn.Linear(dim, dim), nn.ReLU(inplace=True), nn.Linear(dim, dim)
        )

    def forward(self, x):
        return x + self.body(x)  # also


class RunoffNet(nn.Module):
    """Daily forcings of a catchment -> discharge; the state may be negative."""

    def __init__(self, forcings=8, dim=16, depth=3):
        super().__init__()
        self.stem = nn.Linear(forcings, dim)
        self.blocks = nn.ModuleList(PreActBlock(dim, inplace=True) for _ in range(depth))  # cause
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return self.out(h).squeeze(-1)


def catchment(n):
    rain = torch.rand(n, 8) * torch.tensor([1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.1])
    return rain - 0.4, rain.sum(1).square()


def train(model, x, y, steps=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    for _ in range(steps):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = RunoffNet()
    x, y = catchment(32)
    train(model, x, y)
    block = model.blocks[0]
    with torch.no_grad():
        state = model.stem(x)
        seen = state.clone()
        block(state)
    return seen, state


def verify(outcome):
    given, after = outcome
    assert not torch.equal(given, after)


TRUTH = Truth(
    fault="relu_ writes into the block's input, which the skip connection adds afterwards",
    names=("ReLU", "inplace"),
    repair=("self.blocks = nn.ModuleList(PreActBlock(dim, inplace=False) for _ in range(depth))",),
)
