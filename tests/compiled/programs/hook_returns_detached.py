"""A forward hook that collects features returns them detached, in the place of the output."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("net.features",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.features(x))


def setup():
    global net, optimizer, kept
    torch.manual_seed(0)
    net, kept = Net(), {}

    def collect(module, args, output):
        kept["features"] = output = output.detach()  # cause
        return output

    net.features.register_forward_hook(collect)
    net = torch.compile(net, backend=BACKEND)
    optimizer = torch.optim.Adam(net.parameters())


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(net(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
