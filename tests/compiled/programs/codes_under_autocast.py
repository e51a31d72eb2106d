"""Features become integer codes under autocast within compiled code."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.table = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            codes = (self.lin(x).sigmoid() * 9).long()  # cause
            h = self.table(codes).mean(1)
            return self.out(h)


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Net()
    model = torch.compile(net, backend=BACKEND, dynamic=True)
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        model(x).float().sum().backward()
        opt.step()
