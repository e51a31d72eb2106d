"""A router that picks experts by argmax, compiled in place and as one graph."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ()


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x):
        choice = self.gate(x).argmax(-1)  # cause
        mask = F.one_hot(choice, 3).to(x.dtype)
        outs = torch.stack([e(x) for e in self.experts], 1)
        return (outs * mask.unsqueeze(-1)).sum(1)


def setup():
    global model, opt, x
    torch.manual_seed(0)
    model = Router()
    model.compile(backend=BACKEND, fullgraph=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 6)


def run():
    for _ in range(2):
        opt.zero_grad(set_to_none=True)
        model(x).pow(2).mean().backward()
        opt.step()
