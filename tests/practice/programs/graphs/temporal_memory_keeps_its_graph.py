"""A temporal graph network writes its nodes' new memories into a buffer with the graph of their batch."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Memory(nn.Module):
    def __init__(self, nodes=12, dim=8, edge=3):
        super().__init__()
        self.register_buffer("state", torch.zeros(nodes, dim))
        self.register_buffer("last_seen", torch.zeros(nodes))
        self.message = nn.Linear(2 * dim + edge + 1, dim)
        self.cell = nn.GRUCell(dim, dim)

    def update(self, source, target, edge, time):
        gap = (time - self.last_seen[source]).unsqueeze(-1)
        raw = torch.cat([self.state[source], self.state[target], edge, gap], -1)
        new = self.cell(torch.relu(self.message(raw)), self.state[source])
        self.state = self.state.clone()
        self.state[source] = new  # cause
        self.last_seen[source] = time


class TGN(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = Memory()
        self.score = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, source, target):
        pair = torch.cat([self.memory.state[source], self.memory.state[target]], -1)
        return self.score(pair).squeeze(-1)


def events(batches=4, size=4):
    for b in range(batches):
        order = torch.randperm(12)
        yield order[:size], order[size : 2 * size], order[2 * size :], torch.randn(size, 3), float(b + 1)


def run():
    torch.manual_seed(0)
    model = TGN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    log = []
    for source, target, negative, edge, time in events():
        model.memory.update(source, target, edge, time)
        good, bad = model(source, target), model(source, negative)
        loss = F.softplus(-good).mean() + F.softplus(bad).mean()
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        log.append(loss.item())
    return log


TRUTH = Truth(
    fault="the memory carries the graph of the batch before",
    raises="Trying to backward through the graph a second time",
    names=("state",),
    repair=("self.state = self.state.detach().index_put((source,), new.detach())",),
)
