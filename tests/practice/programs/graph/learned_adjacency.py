"""Graph convolution over a learned, sparsified adjacency."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


def normalise(src, dst, w, n):
    deg = torch.zeros(n).index_add(0, dst, w)
    inv = torch.where(deg > 0, deg.pow(-0.5), torch.zeros_like(deg))  # cause
    return inv[src] * w * inv[dst]


class EdgeGate(nn.Module):
    def __init__(self, n_edges):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(n_edges))

    def forward(self, drop):
        gate = torch.sigmoid(self.logits)
        return gate * (torch.rand_like(gate) >= drop if self.training else 1.0)


class GCN(nn.Module):
    def __init__(self, n_edges, dim=6, hidden=12, classes=3):
        super().__init__()
        self.gate = EdgeGate(n_edges)
        self.lin1, self.lin2 = nn.Linear(dim, hidden), nn.Linear(hidden, classes)

    def propagate(self, x, edges, w):
        src, dst = edges
        return torch.zeros_like(x).index_add(0, dst, x[src] * w[:, None])

    def forward(self, x, edges, drop=0.6):
        w = normalise(*edges, self.gate(drop), len(x))
        h = F.relu(self.propagate(self.lin1(x), edges, w) + self.lin1(x))
        return self.propagate(self.lin2(h), edges, w) + self.lin2(h)


def run():
    torch.manual_seed(0)
    n = 20
    edges = torch.randint(0, n, (2, 60))
    x, y = torch.randn(n, 6), torch.randint(0, 3, (n,))
    model = GCN(edges.size(1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    for _ in range(3):
        loss = F.cross_entropy(model(x, edges), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


TRUTH = Truth(
    fault="where() hides the infinite value but its gradient is still NaN for nodes without degree",
    names=("gate.logits",),
    values=True,
    repair=(
        "inv = torch.where(deg > 0, torch.where(deg > 0, deg, torch.ones_like(deg)).pow(-0.5), torch.zeros_like(deg))",
    ),
)


def well(out):
    assert all(p.isfinite().all() for p in out.parameters())


verify = fails(well)
