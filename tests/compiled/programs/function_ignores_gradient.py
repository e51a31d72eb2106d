"""The backward of a custom Function inside compiled code returns ones, whatever gradient it is given."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG108"
NAMES = ("Spike",)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones_like(grad_output)  # cause


def setup():
    global model, optimizer
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6))
    head = nn.Linear(6, 2)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.head = net, head

        def forward(self, x):
            return self.head(Spike.apply(self.net(x)))

    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
