"""Mixture of two branches with a learned temperature, compiled as a whole."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.left = nn.Linear(d, d)
        self.right = nn.Linear(d, d)
        self.gate = nn.Linear(d, 1)
        self.log_temp = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        temp = self.log_temp.exp().item()  # cause
        g = torch.sigmoid(self.gate(x) / temp)
        return g * self.left(x) + (1 - g) * self.right(x)


def run():
    torch.manual_seed(0)
    model = Gated(6)
    net = torch.compile(model, backend=BACKEND)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = nn.functional.mse_loss(net(x), x.relu())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def right(model):
    assert model.log_temp.item() != 0.0, "the temperature never moved"


TRUTH = Truth(
    fault="the temperature leaves the graph as a Python number",
    names=("log_temp",),
    repair=("temp = self.log_temp.exp()",),
)
