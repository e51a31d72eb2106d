"""Link prediction: negatives are drawn without a graph, messages pass along training edges, and zero degrees are safe."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GATLayer(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.lin = nn.Linear(fin, fout, bias=False)
        self.att_src, self.att_dst = nn.Parameter(torch.randn(fout) * 0.1), nn.Parameter(torch.randn(fout) * 0.1)
        self.bias = nn.Parameter(torch.zeros(fout))

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.lin(x)
        e = F.leaky_relu((h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst], 0.2)
        top = torch.full((len(x),), float("-inf")).scatter_reduce(0, dst, e.detach(), "amax")
        w = (e - top[dst]).exp()
        total = torch.zeros(len(x)).index_add(0, dst, w)
        alpha = w / (total[dst] + 1e-16)
        return torch.zeros_like(h).index_add(0, dst, alpha[:, None] * h[src]) + self.bias


@torch.no_grad()
def negative_edges(pos, n, k):
    taken = set((pos[0] * n + pos[1]).tolist())
    ids = [i for i in torch.randperm(n * n).tolist() if i not in taken][:k]
    ids = torch.tensor(ids)
    return torch.stack([ids // n, ids % n])


def run():
    torch.manual_seed(0)
    n = 16
    x, edges = torch.randn(n, 6), torch.randint(n - 2, (2, 40))
    gnn1, gnn2 = GATLayer(6, 8), GATLayer(8, 8)
    optimizer = torch.optim.Adam([*gnn1.parameters(), *gnn2.parameters()], lr=1e-2)
    encode = lambda: gnn2(F.elu(gnn1(x, edges[:, :30])), edges[:, :30])
    aucs, losses = [], []
    for _ in range(3):
        z = encode()
        neg = negative_edges(edges, n, 30)
        pos_score = (z[edges[0, :30]] * z[edges[1, :30]]).sum(-1)
        neg_score = (z[neg[0]] * z[neg[1]]).sum(-1)
        loss = -F.logsigmoid(pos_score).mean() - F.logsigmoid(-neg_score).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            z = encode()
            p, q = (z[edges[0, 30:]] * z[edges[1, 30:]]).sum(-1), (z[neg[0]] * z[neg[1]]).sum(-1)
            aucs.append((p[:, None] > q[None]).float().mean().item())
        losses.append(loss.item())
    return (gnn1, gnn2), losses, aucs


TRUTH = Truth()


def verify(out):
    layers, losses, aucs = out
    assert all(p.grad.abs().sum() > 0 for layer in layers for p in layer.parameters())
    assert all(0 < loss < 100 for loss in losses) and all(0 <= a <= 1 for a in aucs)
