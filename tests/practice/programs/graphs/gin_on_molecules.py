"""Message passing: messages are added with `out[dst] += m`, which keeps one message of each node, not their sum."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GINConv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.edge = nn.Linear(2, dim)
        self.eps = nn.Parameter(torch.zeros(1))

    def message(self, x_j, edge_attr):
        return F.relu(x_j + self.edge(edge_attr))

    def aggregate(self, m, dst, n):
        out = m.new_zeros(n, m.shape[1])
        out[dst] += m  # cause
        return out

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        m = self.message(x[src], edge_attr)
        return self.mlp((1 + self.eps) * x + self.aggregate(m, dst, len(x)))


class GIN(nn.Module):
    def __init__(self, inp=3, dim=8, layers=2):
        super().__init__()
        self.embed = nn.Linear(inp, dim)
        self.convs = nn.ModuleList(GINConv(dim) for _ in range(layers))
        self.readout = nn.Linear(dim, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        h = self.embed(x)
        for conv in self.convs:
            h = h + conv(h, edge_index, edge_attr)
        pooled = torch.zeros(int(batch.max()) + 1, h.shape[1]).index_add(0, batch, h)
        return self.readout(pooled).squeeze(1)


def molecules(graphs=4, n=5):
    edges = []
    for g in range(graphs):
        for i in range(1, n):
            edges += [(g * n + i, g * n), (g * n, g * n + i)]  # a star: the hub receives four messages
    edge_index = torch.tensor(edges).T
    return (
        torch.randn(graphs * n, 3),
        edge_index,
        torch.randn(edge_index.shape[1], 2),
        torch.arange(graphs).repeat_interleave(n),
    )


def run():
    torch.manual_seed(0)
    model = GIN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, edge_index, edge_attr, batch = molecules()
    target = torch.randn(4)
    for epoch in range(2):
        loss = F.l1_loss(model(x, edge_index, edge_attr, batch), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} mae {loss.item():.4f}")
    return model.convs[0].aggregate(torch.ones(4, 1), torch.tensor([0, 0, 0, 1]), 2)


def verify(out):
    assert out[0] == 1  # of three messages


TRUTH = Truth(
    fault="of several messages to a node only one counts, and all get a gradient",
    values=True,
    repair=("out.index_add_(0, dst, m)",),
)
