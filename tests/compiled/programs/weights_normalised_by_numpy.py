"""The compiled gate is normalised in NumPy: what decides the weights learns nothing."""

import numpy as np
import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("net.f",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
        self.g = nn.Linear(4, 4)

    def forward(self, x):
        s = self.f(x)
        w = np.exp(s.detach().cpu().numpy())  # cause
        w = w / w.sum(-1, keepdims=True)
        return self.g(x) * torch.from_numpy(w)


def setup():
    global net, opt
    torch.manual_seed(0)
    net = torch.compile(Net(), backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(3, 4)).pow(2).sum().backward()
        opt.step()
