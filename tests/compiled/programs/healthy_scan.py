"""A scan with a learned decay in compiled code."""

import torch
from torch import nn
from torch._higher_order_ops.scan import scan

from tests.compiled.backend import BACKEND

HEALTHY = True


class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(3, 4)
        self.decay = nn.Parameter(torch.tensor(0.9))
        self.head = nn.Linear(4, 1)

    def forward(self, xs):
        inputs = self.project(xs)

        def combine(carry, u):
            carry = carry * self.decay + u
            return carry, carry.clone()

        _, ys = scan(combine, torch.zeros(4), inputs)
        return self.head(ys)


def setup():
    global model, optimizer
    model = Filter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = torch.compile(model, backend=BACKEND)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 3)).pow(2).mean().backward()
        optimizer.step()
