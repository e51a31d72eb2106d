"""Each client gets `copy.copy` of the server's model: all of them train the server's own weights."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 10)
        self.b = nn.Linear(10, 3)

    def forward(self, x):
        return self.b(F.elu(self.a(x)))


def local_training(server, x, y, epochs=2):
    client = copy.copy(server)  # cause
    client.train()
    opt = torch.optim.SGD(client.parameters(), lr=0.1)
    for _ in range(epochs):
        opt.zero_grad()
        F.cross_entropy(client(x), y).backward()
        opt.step()
    return client


@torch.no_grad()
def average(server, clients, shares):
    moved = 0.0
    for p, *theirs in zip(server.parameters(), *(client.parameters() for client in clients)):
        mean = sum(share * other for share, other in zip(shares, theirs))
        moved = max(moved, (mean - p).abs().max().item())
        p.copy_(mean)
    return moved


def run():
    torch.manual_seed(0)
    server = Net()
    data = [(torch.randn(20, 5) + i, torch.randint(3, (20,))) for i in range(3)]
    for _ in range(3):
        clients = [local_training(server, x, y) for x, y in data]
        moved = average(server, clients, [1 / 3] * 3)
    return moved


def verify(out):
    assert out < 1e-6


TRUTH = Truth(
    fault="the copies share their Parameters: the average is that of one model with itself",
    repair=("client = copy.deepcopy(server)",),
)
