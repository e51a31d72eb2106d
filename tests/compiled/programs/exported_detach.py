"""A module that torch.export made, trained on, detaches its features."""

import torch
from torch import nn

RULES = "AG101"
NAMES = ()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.b(h.detach())  # cause


def setup():
    global model, opt, x
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    model = torch.export.export(Net(), (x,)).module()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
