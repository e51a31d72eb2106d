"""Graph pooling: the per-graph scores are put together with torch.tensor, which cuts the graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GATLayer(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.w = nn.Linear(inp, out, bias=False)
        self.a = nn.Linear(2 * out, 1, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.w(x)
        e = F.leaky_relu(self.a(torch.cat([h[src], h[dst]], 1)), 0.2).squeeze(1)
        top = torch.full((len(x),), -1e9).scatter_reduce(0, dst, e.detach(), "amax")
        num = (e - top[dst]).exp()
        att = num / (torch.zeros(len(x)).index_add(0, dst, num)[dst] + 1e-16)
        return F.elu(torch.zeros_like(h).index_add(0, dst, att[:, None] * h[src]))


class GraphRegressor(nn.Module):
    def __init__(self, inp=4, dim=8):
        super().__init__()
        self.gat1, self.gat2 = GATLayer(inp, dim), GATLayer(dim, dim)
        self.node_head = nn.Linear(dim, 3)
        self.graph_head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, x, edge_index, batch):
        h = self.gat2(self.gat1(x, edge_index), edge_index)
        scores = []
        for g in range(int(batch.max()) + 1):
            scores.append(self.graph_head(h[batch == g].mean(0)))
        return self.node_head(h), torch.tensor(scores)  # cause


def batch_of_rings(sizes=(4, 5, 6)):
    edges, batch, offset = [], [], 0
    for g, n in enumerate(sizes):
        for i in range(n):
            a, b = offset + i, offset + (i + 1) % n
            edges += [(a, b), (b, a), (a, a)]
        batch += [g] * n
        offset += n
    return torch.tensor(edges).T, torch.tensor(batch)


def run():
    torch.manual_seed(0)
    model = GraphRegressor()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    edge_index, batch = batch_of_rings()
    for epoch in range(3):
        x = torch.randn(len(batch), 4)
        node_y, graph_y = torch.randint(0, 3, (len(batch),)), torch.randn(3)
        node_logits, graph_pred = model(x, edge_index, batch)
        loss = F.cross_entropy(node_logits, node_y) + 0.5 * F.mse_loss(graph_pred, graph_y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    return model


def verify(out):
    assert all(p.grad is None for p in out.graph_head.parameters())


TRUTH = Truth(
    fault="the graph head is cut off by a copy of its outputs",
    names=("graph_head",),
    repair=("return self.node_head(h), torch.cat(scores)",),
)
