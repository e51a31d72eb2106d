"""The whole step is compiled: the model's gradients are cleared behind the step, and by hand before the next loss."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global train_step
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend=BACKEND)
    def train_step(x):
        for parameter in model.parameters():
            parameter.grad = None
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        model.zero_grad()
        return loss


def run():
    for _ in range(3):
        train_step(torch.randn(6, 4))
