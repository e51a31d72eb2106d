"""A deep GCN keeps its layers in a Python list, so neither parameters() nor the optimizer knows them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GCN2Conv(nn.Module):
    """GCNII: initial residual and identity mapping."""

    def __init__(self, dim, layer, alpha=0.1, theta=0.5):
        super().__init__()
        self.alpha, self.beta = alpha, torch.log(torch.tensor(theta / layer + 1)).item()
        self.weight = nn.Parameter(torch.empty(dim, dim))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, x0, adj):
        h = (1 - self.alpha) * (adj @ x) + self.alpha * x0
        return (1 - self.beta) * h + self.beta * (h @ self.weight)


class GCNII(nn.Module):
    def __init__(self, inp=6, dim=8, classes=3, depth=4, dropout=0.2):
        super().__init__()
        self.inp, self.out = nn.Linear(inp, dim), nn.Linear(dim, classes)
        self.convs = [GCN2Conv(dim, layer + 1) for layer in range(depth)]  # cause
        self.dropout = dropout

    def forward(self, x, adj):
        x = x0 = F.relu(self.inp(F.dropout(x, self.dropout, self.training)))
        for conv in self.convs:
            x = F.relu(conv(F.dropout(x, self.dropout, self.training), x0, adj))
        return self.out(x)


def normalised_adjacency(n, p=0.3):
    adj = (torch.rand(n, n) < p).float().triu(1)
    adj = adj + adj.T + torch.eye(n)
    d = adj.sum(1).rsqrt()
    return d[:, None] * adj * d[None]


def run():
    torch.manual_seed(0)
    adj, x, y = normalised_adjacency(14), torch.randn(14, 6), torch.randint(0, 3, (14,))
    mask = torch.arange(14) < 10
    model = GCNII()
    start = [conv.weight.detach().clone() for conv in model.convs]
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(3):
        model.train()
        loss = F.cross_entropy(model(x, adj)[mask], y[mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x, adj).argmax(1) == y)[~mask].float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.2f}")
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(conv.weight, s) for conv, s in zip(model.convs, start))


TRUTH = Truth(
    fault="the layers are not registered, and never stepped or zeroed",
    names=("convs",),
    repair=("self.convs = nn.ModuleList(GCN2Conv(dim, layer + 1) for layer in range(depth))",),
)
