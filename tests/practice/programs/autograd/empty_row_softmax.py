"""Attention over neighbours: nan_to_num after the softmax cleans the output of isolated nodes, their gradient stays NaN."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class NeighbourAttention(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim)

    def forward(self, x, adjacency):
        scores = self.q(x) @ self.k(x).T / x.shape[1] ** 0.5
        scores = scores + adjacency.to(scores.dtype).log()  # cause
        weights = scores.softmax(-1).nan_to_num(0.0)  # also
        return x + weights @ self.v(x)


class NodeClassifier(nn.Module):
    def __init__(self, dim=6, classes=3):
        super().__init__()
        self.attention = NeighbourAttention(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, x, adjacency):
        return self.out(torch.tanh(self.attention(x, adjacency)))


def random_graph(nodes=10, p=0.4, isolated=1):
    upper = torch.triu(torch.rand(nodes, nodes) < p, diagonal=1)
    adjacency = upper | upper.T
    if isolated:
        adjacency[:isolated] = False
        adjacency[:, :isolated] = False
    x = torch.randn(nodes, 6)
    return x, adjacency, x[:, :3].argmax(1)


def sanitise(model):
    """Some gradients are NaN now and then; the usual cure."""
    for p in model.parameters():
        p.grad.nan_to_num_(0.0)


def run():
    torch.manual_seed(0)
    model = NodeClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        x, adjacency, y = random_graph()
        optimizer.zero_grad()
        logits = model(x, adjacency)
        assert torch.isfinite(logits).all()
        F.cross_entropy(logits, y).backward()
        sanitise(model)
        optimizer.step()
    return {n: torch.equal(p, before[n]) for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["attention.q.weight"] and outcome["attention.k.weight"]
    assert not outcome["attention.v.weight"]


TRUTH = Truth(
    fault="a row of -inf only makes softmax's backward NaN for q and k; the gradients are then set to zero as a whole",
    names=("softmax",),
    values=True,
    repair=("scores = scores.masked_fill(~adjacency, -1e9)",),
)
