"""N-BEATS: each block's backcast is subtracted from the residual in place, which the block's first layer saved."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, backcast=12, forecast=4, width=24, basis=5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(backcast, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.theta = nn.Linear(width, 2 * basis)
        time = torch.linspace(0, 1, backcast + forecast)
        polynomial = torch.stack([time**i for i in range(basis)])
        self.register_buffer("past", polynomial[:, :backcast])
        self.register_buffer("future", polynomial[:, backcast:])

    def forward(self, x):
        back, fore = self.theta(self.layers(x)).chunk(2, -1)
        return back @ self.past, fore @ self.future


class NBeats(nn.Module):
    def __init__(self, blocks=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))

    def forward(self, x):
        residual, forecast = x.clone(), 0.0
        for block in self.blocks:
            back, fore = block(residual)
            residual -= back  # cause
            forecast = forecast + fore
        return forecast


def series(n):
    t = torch.arange(16.0) + 20 * torch.rand(n, 1)
    values = torch.sin(t / 3) + 0.05 * t
    return values[:, :12], values[:, 12:]


def smape(predicted, wanted):
    return (2 * (predicted - wanted).abs() / (predicted.abs() + wanted.abs() + 1e-3)).mean()


def run(steps=2):
    torch.manual_seed(0)
    net = NBeats()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(steps):
        past, future = series(8)
        loss = smape(net(past), future)
        optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


TRUTH = Truth(
    fault="the block's input is modified in place after its layer saved it",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("residual",),
    repair=("residual = residual - back",),
)
