"""A temporal graph network: raw messages are kept, memories are updated lazily with a graph and stored without it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Memory(nn.Module):
    def __init__(self, nodes=12, dim=8, edge=3):
        super().__init__()
        self.register_buffer("state", torch.zeros(nodes, dim))
        self.message = nn.Linear(2 * dim + edge, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.pending = {}

    def flushed(self):
        if not self.pending:
            return self.state
        nodes = torch.tensor(sorted(self.pending))
        raw = torch.stack([self.pending[n] for n in nodes.tolist()])
        new = self.cell(torch.relu(self.message(raw)), self.state[nodes])
        return self.state.index_copy(0, nodes, new)

    @torch.no_grad()
    def store(self, state, source, target, edge):
        self.state.copy_(state)
        self.pending = {}
        for s, t, e in zip(source.tolist(), target.tolist(), edge):
            self.pending[s] = torch.cat([self.state[s], self.state[t], e])
            self.pending[t] = torch.cat([self.state[t], self.state[s], e])


class TGN(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = Memory()
        self.score = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, state, source, target):
        return self.score(torch.cat([state[source], state[target]], -1)).squeeze(-1)


def events(batches=5, size=4):
    for _ in range(batches):
        order = torch.randperm(12)
        yield order[:size], order[size : 2 * size], order[2 * size :], torch.randn(size, 3)


def run():
    torch.manual_seed(0)
    model = TGN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = model.memory.cell.weight_ih.detach().clone()
    for source, target, negative, edge in events():
        state = model.memory.flushed()
        loss = F.softplus(-model(state, source, target)).mean() + F.softplus(model(state, source, negative)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.memory.store(state, source, target, edge)
    return model.memory, start


TRUTH = Truth()


def verify(out):
    memory, start = out
    assert not torch.equal(memory.cell.weight_ih, start) and not memory.state.requires_grad
