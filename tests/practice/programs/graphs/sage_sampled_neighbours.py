"""GraphSAGE by sampled blocks: isolated nodes aggregate zeros, and dense tables of embeddings are written at the end."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SAGEConv(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.lin_l, self.lin_r = nn.Linear(fin, fout), nn.Linear(fin, fout, bias=False)

    def forward(self, x, edge_index, targets):
        src, dst = edge_index
        agg = torch.zeros(targets, x.shape[1]).index_add_(0, dst, x[src])
        deg = torch.zeros(targets).index_add_(0, dst, torch.ones(len(dst))).clamp_(min=1)
        return self.lin_l(agg / deg[:, None]) + self.lin_r(x[:targets])


class SAGE(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([SAGEConv(5, 12), SAGEConv(12, 3)])

    def forward(self, x, blocks):
        for i, (edges, targets) in enumerate(blocks):
            x = self.convs[i](x, edges, targets)
            if i == 0:
                x = F.normalize(x.relu_(), dim=1)
        return x


def sample(adj, seeds, rng, fanout=3):
    blocks, nodes = [], list(seeds)
    for _ in range(2):
        targets, src, dst = len(nodes), [], []
        position = {n: i for i, n in enumerate(nodes)}
        for i in range(targets):
            neighbours = adj[nodes[i]]
            for n in rng.permutation(neighbours)[:fanout].tolist():
                if n not in position:
                    position[n] = len(nodes)
                    nodes.append(n)
                src.append(position[n])
                dst.append(i)
        blocks.insert(0, (torch.tensor([src, dst], dtype=torch.long), targets))
    return torch.tensor(nodes), blocks


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    n = 30
    adj = [[] if i % 7 == 0 else rng.choice(n, 5, replace=False).tolist() for i in range(n)]
    x, y = torch.randn(n, 5), torch.randint(3, (n,))
    model = SAGE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        seeds = rng.permutation(n)[:8]
        nodes, blocks = sample(adj, seeds.tolist(), rng)
        loss = F.cross_entropy(model(x[nodes], blocks), y[torch.from_numpy(seeds)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    table = np.zeros((n, 3), dtype=np.float32)
    model.eval()
    with torch.inference_mode():
        for i in range(n):
            nodes, blocks = sample(adj, [i], rng, fanout=10)
            table[i] = model(x[nodes], blocks).numpy()
    return model, losses, table


TRUTH = Truth()


def verify(out):
    model, losses, table = out
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert all(0 < loss < 100 for loss in losses) and np.isfinite(table).all()
