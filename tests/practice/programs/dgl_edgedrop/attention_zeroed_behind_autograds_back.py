"""DGL-like GAT: dropped edges are zeroed in alpha.data: the softmax's backward reads the overwritten result."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class DenseGraph:
    def __init__(self, n, p=0.6):
        self.adj = (torch.rand(n, n) < p) | torch.eye(n, dtype=torch.bool)

    def edge_softmax(self, scores):
        return scores.masked_fill(~self.adj, float("-inf")).softmax(-1)


class EdgeDrop(nn.Module):
    """Drop whole edges of the attention, without an entry in the graph of autograd."""

    def __init__(self, p):
        super().__init__()
        self.p = p
        self.last = None

    def forward(self, alpha):
        if not self.training:
            return alpha
        self.last = torch.rand_like(alpha) < self.p
        alpha.data.masked_fill_(self.last, 0.0)  # cause
        return alpha


class GATLayer(nn.Module):
    def __init__(self, cin, cout, drop):
        super().__init__()
        self.fc = nn.Linear(cin, cout, bias=False)
        self.attn_l, self.attn_r = nn.Linear(cout, 1, bias=False), nn.Linear(cout, 1, bias=False)
        self.edge_drop = EdgeDrop(drop)

    def forward(self, g, x):
        z = self.fc(x)
        e = F.leaky_relu(self.attn_l(z) + self.attn_r(z).T, 0.2)
        return self.edge_drop(g.edge_softmax(e)) @ z


def reference_gradient(layer, head, g, x, y):
    """The same forward with the same mask, as a multiplication."""
    z = layer.fc(x)
    e = F.leaky_relu(layer.attn_l(z) + layer.attn_r(z).T, 0.2)
    out = (g.edge_softmax(e) * ~layer.edge_drop.last) @ z
    return torch.autograd.grad(F.cross_entropy(head(out), y), layer.attn_l.weight)[0]


def run():
    torch.manual_seed(0)
    g = DenseGraph(10)
    layer, head = GATLayer(5, 8, drop=0.4), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-2)
    x, y = torch.randn(10, 5) * 2, torch.randint(0, 3, (10,))
    errors = []
    for _ in range(3):
        layer.train()
        loss = F.cross_entropy(head(layer(g, x)), y)
        optimizer.zero_grad()
        loss.backward()
        exact = reference_gradient(layer, head, g, x, y)
        errors.append(((layer.attn_l.weight.grad - exact).norm() / exact.norm()).item())
        optimizer.step()
    return errors


def verify(outcome):
    assert all(e > 1e-2 for e in outcome)


TRUTH = Truth(
    fault="alpha.data is overwritten: softmax saved that very result for backward, and no version counter says that it changed",
    names=("alpha",),
    repair=("alpha = alpha.masked_fill(self.last, 0.0)",),
)
