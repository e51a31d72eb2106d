"""A compiled model, trained as in the tutorial."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.head(F.dropout(x.mean((2, 3)), 0.1, self.training))


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)


def run():
    net.train()
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(net(torch.randn(4, 1, 6, 6)), torch.tensor([0, 1, 2, 0])).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        return net(torch.randn(4, 1, 6, 6)).argmax(-1)
