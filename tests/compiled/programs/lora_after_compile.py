"""Adapters are put into a compiled model after its optimizer was made: it recompiles, and they never move."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG404"
NAMES = ("lora_b", "lora_a")


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.lora_a.T @ self.lora_b.T


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.value, self.out = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.query(x)) * self.value(x))


def setup():
    global net, compiled, optimizer
    torch.manual_seed(0)
    net = Net()
    compiled = torch.compile(net, backend=BACKEND)
    compiled(torch.randn(2, 6))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)


def run():
    net.query = Adapted(net.query)
    net.value = Adapted(net.value)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(compiled(torch.randn(4, 6)), torch.randint(3, (4,))).backward()
        optimizer.step()
