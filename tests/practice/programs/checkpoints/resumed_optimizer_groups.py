"""Resuming: the new optimizer has only the head's parameters, the saved state those of the whole net."""

import io

import torch
from torch import nn

from tests.practice.truth import Truth


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


def save(model, optimizer):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1}, buffer)
    buffer.seek(0)
    return buffer


def train(model, optimizer, steps=2):
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(torch.randn(5, 4)), torch.randint(2, (5,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, optimizer)
    checkpoint = torch.load(save(model, optimizer))

    resumed = Model()
    resumed.load_state_dict(checkpoint["model"])
    optimizer = torch.optim.Adam(resumed.head.parameters(), lr=1e-3)  # cause
    optimizer.load_state_dict(checkpoint["optimizer"])  # also
    train(resumed, optimizer)


TRUTH = Truth(
    fault="the saved groups have other parameters",
    raises="loaded state dict contains a parameter group that doesn't match the size",
    repair=("optimizer = torch.optim.Adam(resumed.parameters(), lr=1e-3)",),
)
