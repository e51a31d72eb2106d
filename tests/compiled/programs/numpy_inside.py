"""NumPy smooths the features within a graph of dynamic shapes."""

import numpy as np
import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Linear(4, 4)
        self.back = nn.Linear(4, 1)

    def forward(self, x):
        h = self.front(x)
        smooth = np.convolve(h.detach().numpy().ravel(), np.ones(3) / 3, "same").reshape(h.shape)  # cause
        h = torch.from_numpy(smooth).float()
        return self.back(h)


def setup():
    global net, model, opt, xs
    torch.manual_seed(0)
    net = Net()
    model = torch.compile(net, backend=BACKEND, dynamic=True)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    xs = [torch.randn(n, 4) for n in (3, 5, 7)]


def run():
    for x in xs:
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
