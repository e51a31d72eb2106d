"""fullgraph=True, with a buffer that follows the mean of the activations without their graph."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        self.mean.lerp_(h.detach().mean(0), 0.1)
        return (h - self.mean).pow(2).sum()


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).backward()
        optimizer.step()
