"""FedAvgM: the clients' copies are deep, the server's pseudo-gradient is set anew each round, normalisation stays local."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def make():
    return nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))


class Client:
    def __init__(self, shift):
        self.x = torch.randn(24, 5) + shift
        self.y = torch.randint(3, (24,))
        self.local = {}

    def update(self, server, mu=0.01):
        model = copy.deepcopy(server)
        model.load_state_dict(self.local, strict=False)
        anchor = [p.detach().clone() for p in server.parameters()]
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for rows in torch.randperm(24).split(8):
            opt.zero_grad()
            loss = F.cross_entropy(model(self.x[rows]), self.y[rows])
            loss = loss + mu / 2 * sum((p - a).pow(2).sum() for p, a in zip(model.parameters(), anchor))
            loss.backward()
            opt.step()
        self.local = {name: value.clone() for name, value in model.state_dict().items() if name.startswith("1.")}
        return [a - p.detach() for p, a in zip(model.parameters(), anchor)]


def run():
    torch.manual_seed(0)
    server = make()
    opt = torch.optim.SGD(server.parameters(), lr=1.0, momentum=0.9)
    clients = [Client(shift) for shift in (0.0, 1.0, -1.0)]
    for _ in range(3):
        deltas = [clients[i].update(server) for i in torch.randperm(3)[:2].tolist()]
        for p, *moved in zip(server.parameters(), *deltas):
            p.grad = torch.stack(moved).mean(0)
        opt.step()
        opt.zero_grad()
    server.eval()
    with torch.no_grad():
        return [(server(c.x).argmax(1) == c.y).float().mean().item() for c in clients]


TRUTH = Truth()
