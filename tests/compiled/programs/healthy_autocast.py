"""Autocast in compiled code, around and inside."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.gru = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        h = self.emb(ids)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = torch.tanh(self.gru(h))
        return self.head(h.float().mean(1))


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(net(torch.randint(0, 10, (3, 5))), torch.tensor([0, 1, 2])).backward()
        optimizer.step()
