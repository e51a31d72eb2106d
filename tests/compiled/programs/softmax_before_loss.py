"""The compiled loss takes the softmax of what is one already."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG307"
NAMES = ()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x):
        return torch.softmax(self.lin(x), -1)


def setup():
    global net, fn, opt, x, y
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))

    @torch.compile(backend=BACKEND)
    def fn(x, y):
        return F.cross_entropy(net(x), y)  # cause


def run():
    for _ in range(2):
        opt.zero_grad()
        fn(x, y).backward()
        opt.step()
