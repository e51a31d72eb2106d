"""PyG-like: GCNConv(cached=True) caches the normalised adjacency; the sanity check fills it under no_grad."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def gcn_norm(edge_index, edge_weight, n):
    loops = torch.arange(n).repeat(2, 1)
    edge_index = torch.cat([edge_index, loops], 1)
    edge_weight = torch.cat([edge_weight, torch.ones(n)])
    deg = torch.zeros(n).index_add(0, edge_index[1], edge_weight)
    inv = deg.clamp(min=1e-6).rsqrt()
    return edge_index, inv[edge_index[0]] * edge_weight * inv[edge_index[1]]


class GCNConv(nn.Module):
    def __init__(self, cin, cout, cached=False):
        super().__init__()
        self.cached = cached
        self._cached_edge_index = None
        self.lin = nn.Linear(cin, cout, bias=False)
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x, edge_index, edge_weight):
        if self._cached_edge_index is None:
            edge_index, edge_weight = gcn_norm(edge_index, edge_weight, len(x))
            if self.cached:
                self._cached_edge_index = (edge_index, edge_weight)
        else:
            edge_index, edge_weight = self._cached_edge_index
        x = self.lin(x)
        messages = x[edge_index[0]] * edge_weight.unsqueeze(1)
        return torch.zeros_like(x).index_add(0, edge_index[1], messages) + self.bias


class TrafficGCN(nn.Module):
    """The strength of each road is learnt with the rest."""

    def __init__(self, n_edges, cin=4, hidden=16, classes=3):
        super().__init__()
        self.edge_logits = nn.Parameter(torch.zeros(n_edges))
        self.conv1 = GCNConv(cin, hidden, cached=True)  # cause
        self.conv2 = GCNConv(hidden, classes, cached=True)  # cause

    def forward(self, x, edge_index):
        w = self.edge_logits.sigmoid()
        x = self.conv1(x, edge_index, w).relu()
        x = F.dropout(x, 0.2, self.training)
        return self.conv2(x, edge_index, w)


@torch.no_grad()
def test(model, x, edge_index, y):
    model.eval()
    return (model(x, edge_index).argmax(1) == y).float().mean().item()


def run():
    torch.manual_seed(0)
    n = 12
    edge_index = torch.stack(
        [torch.arange(n).repeat(2), torch.cat([torch.arange(n).roll(1), torch.arange(n).roll(-2)])]
    )
    x, y = torch.randn(n, 4), torch.randint(0, 3, (n,))
    model = TrafficGCN(edge_index.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    test(model, x, edge_index, y)  # before training, to know chance
    accuracies = []
    for _ in range(3):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x, edge_index), y).backward()
        optimizer.step()
        accuracies.append(test(model, x, edge_index, y))
    return accuracies, model.edge_logits.detach().abs().max().item(), model.conv1.lin.weight.grad is not None


def verify(outcome):
    _, moved, trained = outcome
    assert moved == 0.0 and trained


TRUTH = Truth(
    fault="cached=True keeps the edge weights of the first forward, made under no_grad: edge_logits never gets a gradient",
    names=("edge_logits",),
    repair=("self.conv1 = GCNConv(cin, hidden, cached=False)", "self.conv2 = GCNConv(hidden, classes, cached=False)"),
)
