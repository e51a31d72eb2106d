"""Attention over neighbours: isolated nodes give NaN rows, cleaned forwards; masked_fill zeroes their gradient backwards."""

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
        scores = scores.masked_fill(~adjacency, float("-inf"))
        weights = scores.softmax(-1).nan_to_num(0.0)
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


def finite(model):
    return all(torch.isfinite(p.grad).all().item() for p in model.parameters())


def run():
    torch.manual_seed(0)
    model = NodeClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    clean = []
    for _ in range(3):
        x, adjacency, y = random_graph()
        optimizer.zero_grad()
        logits = model(x, adjacency)
        assert torch.isfinite(logits).all()
        F.cross_entropy(logits, y).backward()
        clean.append(finite(model))
        optimizer.step()
    return clean, [not torch.equal(p, before[n]) for n, p in model.named_parameters()]


def verify(outcome):
    clean, moved = outcome
    assert all(clean) and all(moved)


TRUTH = Truth()
