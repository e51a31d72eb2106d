"""Graphs: messages are added with agg[target] += ..., which keeps only one of the edges that end in a node."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

NODES, FEATURES = 8, 6


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * dim + 1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, edges, distance):
        source, target = edges
        m = self.message(torch.cat([h[source], h[target], distance], dim=-1))
        agg = torch.zeros_like(h)
        agg[target] += m  # cause
        return self.update(agg, h), m


class GNN(nn.Module):
    def __init__(self, dim=10, depth=2):
        super().__init__()
        self.embed = nn.Linear(FEATURES, dim)
        self.layers = nn.ModuleList([MessagePassing(dim) for _ in range(depth)])
        self.readout = nn.Linear(dim, 1)
        self.first_messages = None

    def forward(self, x, edges, distance):
        h = self.embed(x)
        for i, layer in enumerate(self.layers):
            h, m = layer(h, edges, distance)
            if i == 0:
                self.first_messages = m
        return self.readout(h).mean()


def ring_with_chords():
    ring = torch.tensor([[i, (i + 1) % NODES] for i in range(NODES)])
    chords = torch.tensor([[0, 4], [2, 6], [1, 5], [3, 7]])
    pairs = torch.cat([ring, chords])
    edges = torch.cat([pairs, pairs.flip(1)]).t().contiguous()
    return edges, torch.rand(edges.shape[1], 1)


def permuted(model, x, edges, distance):
    """The prediction must not depend on the order in which the edges are listed."""
    order = torch.arange(edges.shape[1]).flip(0)
    with torch.no_grad():
        return model(x, edges[:, order], distance[order]).item()


def run():
    torch.manual_seed(0)
    model = GNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    edges, distance = ring_with_chords()
    gaps = []
    for _ in range(3):
        x, y = torch.randn(NODES, FEATURES), torch.randn(())
        out = model(x, edges, distance)
        loss = F.mse_loss(out, y)
        gaps.append(abs(out.item() - permuted(model, x, edges, distance)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return gaps


def verify(outcome):
    assert all(gap > 1e-5 for gap in outcome)


TRUTH = Truth(
    fault="indexed += writes one message per node where several edges share a target: the others are lost",
    names=("agg",),
    values=True,
    repair=("agg = agg.index_add(0, target, m)",),
)
