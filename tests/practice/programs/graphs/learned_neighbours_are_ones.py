"""A graph is learned from embeddings of the nodes; what is written into the adjacency are ones, not the scores."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GraphLearner(nn.Module):
    def __init__(self, nodes, dim, k):
        super().__init__()
        self.source = nn.Embedding(nodes, dim)
        self.target = nn.Embedding(nodes, dim)
        self.k = k

    def forward(self, ids):
        scores = torch.tanh(self.source(ids) @ self.target(ids).T).relu()
        top = (scores + 0.01 * torch.rand_like(scores)).topk(self.k, 1)
        adjacency = torch.zeros_like(scores)
        adjacency.scatter_(1, top.indices, 1.0)  # cause
        return adjacency


class Forecaster(nn.Module):
    def __init__(self, nodes=8, window=6, hidden=16):
        super().__init__()
        self.graph = GraphLearner(nodes, 5, 3)
        self.lift = nn.Linear(window, hidden)
        self.mix = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.register_buffer("ids", torch.arange(nodes))

    def forward(self, x):
        a = self.graph(self.ids)
        a = a / a.sum(1, keepdim=True).clamp_min(1e-6)
        h = F.relu(self.lift(x))
        h = F.relu(self.mix(torch.cat([h, a @ h], -1)))
        return self.out(h).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Forecaster()
    start = model.graph.source.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        x = torch.randn(16, 8, 6)
        y = x.mean(-1).roll(1, 1)
        opt.zero_grad()
        loss = F.l1_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
    return start, model.graph.source.weight


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the learned adjacency holds ones at the chosen places; the scores have no way to the loss",
    names=("source",),
    repair=("adjacency = adjacency.scatter(1, top.indices, scores.gather(1, top.indices))",),
)
