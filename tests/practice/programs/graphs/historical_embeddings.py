"""Historical embeddings of a sampled GNN: the store is filled with tensors that still have their graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class History:
    """The last known embedding of every node, for neighbours outside the batch."""

    def __init__(self, n, dim):
        self.emb = [torch.zeros(dim) for _ in range(n)]

    def pull(self, ids):
        return torch.stack([self.emb[i] for i in ids.tolist()])

    def push(self, ids, h):
        for i, row in zip(ids.tolist(), h):
            self.emb[i] = row  # cause


class ScalableSAGE(nn.Module):
    def __init__(self, n, inp=4, hidden=6, classes=3):
        super().__init__()
        self.history = History(n, hidden)
        self.self1, self.neigh1 = nn.Linear(inp, hidden), nn.Linear(inp, hidden, bias=False)
        self.self2, self.neigh2 = nn.Linear(hidden, classes), nn.Linear(hidden, classes, bias=False)

    def forward(self, x, adj, batch):
        neigh = adj[batch] @ x / adj[batch].sum(1, keepdim=True).clamp(min=1)
        h = F.relu(self.self1(x[batch]) + self.neigh1(neigh))
        outside = torch.ones(len(x), dtype=torch.bool)
        outside[batch] = False
        outside = outside.nonzero().squeeze(1)
        agg = adj[batch][:, batch] @ h + adj[batch][:, outside] @ self.history.pull(outside)
        self.history.push(batch, h)
        return self.self2(h) + self.neigh2(agg / adj[batch].sum(1, keepdim=True).clamp(min=1))


def ring_with_chords(n=12):
    adj = torch.zeros(n, n)
    for i in range(n):
        for d in (1, 5):
            adj[i, (i + d) % n] = adj[(i + d) % n, i] = 1
    return adj


def run():
    torch.manual_seed(0)
    n = 12
    adj, x, y = ring_with_chords(n), torch.randn(n, 4), torch.randint(0, 3, (n,))
    model = ScalableSAGE(n)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        total = 0.0
        for batch in torch.randperm(n).split(4):
            opt.zero_grad()
            loss = F.cross_entropy(model(x, adj, batch), y[batch])
            loss.backward()  # symptom
            opt.step()
            total += float(loss.detach()) * len(batch)
        print(f"epoch {epoch}: {total / n:.4f}")
    return model


TRUTH = Truth(
    fault="the store of old embeddings keeps their graphs",
    raises="Trying to backward through the graph a second time",
    names=("emb",),
    repair=("self.emb[i] = row.detach()",),
)
