"""JAX to PyTorch: lax.scan over chunks with stop_gradient on the carry; the detach went one loop too deep, to every time step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self, inputs=3, width=8):
        super().__init__()
        self.input = nn.Linear(inputs, width)
        self.recurrent = nn.Linear(width, width, bias=False)

    def forward(self, carry, x):
        carry = torch.tanh(self.input(x) + self.recurrent(carry))
        return carry, carry


def scan(cell, carry, xs):
    outputs = []
    for x in xs.unbind(dim=1):
        carry, y = cell(carry, x)
        carry = carry.detach()  # cause
        outputs.append(y)
    return carry, torch.stack(outputs, dim=1)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.readout = nn.Linear(8, 1)

    def forward(self, carry, chunk):
        carry, hidden = scan(self.cell, carry, chunk)
        return carry.detach(), self.readout(hidden[:, -1])


def train(model, series, chunk_length=5):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    carry = torch.zeros(series.shape[0], 8)
    for chunk in series.split(chunk_length, dim=1):
        carry, forecast = model(carry, chunk)
        loss = F.mse_loss(forecast, chunk.sum(dim=(1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Forecaster()
    train(model, torch.randn(6, 15, 3))
    chunk = torch.randn(6, 5, 3, requires_grad=True)
    _, forecast = model(torch.zeros(6, 8), chunk)
    (reach,) = torch.autograd.grad(forecast.sum(), chunk)
    return reach.abs().sum(dim=(0, 2))


def verify(reach):
    assert not reach[:-1].any() and reach[-1] > 0


TRUTH = Truth(
    fault="the hidden state is detached at every time step: no gradient through time inside a chunk",
    names=("detach",),
    repair=("pass",),
)
