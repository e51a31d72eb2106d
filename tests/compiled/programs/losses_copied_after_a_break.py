"""Dynamo leaves the LSTM and `torch.tensor(..., requires_grad=True)` to Python: one is trained, the other copies."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("encoder", "torch.tensor")


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(1, 8, batch_first=True)
        self.decoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
        self.decoder.compile(backend=BACKEND)

    @torch.compile(backend=BACKEND)
    def forward(self, history):
        _, (h, _) = self.encoder(history.unsqueeze(-1))
        return self.decoder(h[-1])


@torch.compile(backend=BACKEND)
def pinball(forecast, target):
    losses = []
    for at, share in enumerate((0.1, 0.9)):
        error = target - forecast[:, at]
        losses.append(torch.maximum(share * error, (share - 1) * error).mean())
    return torch.tensor(losses, requires_grad=True).mean()  # cause


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = Forecaster()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        pinball(net(torch.rand(4, 6)), torch.rand(4)).backward()
        optimizer.step()
