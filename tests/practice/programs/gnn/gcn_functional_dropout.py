"""GCN on a citation graph: functional dropout without `training=` goes on dropping in evaluation."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def normalised_adjacency(n, edges):
    a = torch.eye(n)
    a[edges[0], edges[1]] = 1
    a[edges[1], edges[0]] = 1
    d = a.sum(1).rsqrt()
    return d.unsqueeze(1) * a * d


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(i, o)), nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, width, hidden, classes, dropout=0.5):
        super().__init__()
        self.conv1, self.conv2 = GraphConv(width, hidden), GraphConv(hidden, classes)
        self.dropout = dropout

    def forward(self, x, adj):
        h = F.relu(self.conv1(x, adj))
        h = F.dropout(h, self.dropout)  # cause
        return self.conv2(h, adj)


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, float("inf"), 0, None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.bad = value, 0
            self.state = {k: v.clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience


def citation_graph(n=40, classes=3, width=10):
    y = torch.randint(0, classes, (n,))
    same = y.unsqueeze(0) == y.unsqueeze(1)
    p = torch.where(same, 0.2, 0.02)
    edges = torch.where((torch.rand(n, n) < p).triu(1))
    x = torch.randn(n, width) + 2 * F.one_hot(y, width)
    order = torch.randperm(n)
    return x, y, normalised_adjacency(n, edges), order[:15], order[15:25]


@torch.no_grad()
def evaluate(model, x, adj, y, idx):
    model.eval()
    logits = model(x, adj)
    return F.cross_entropy(logits[idx], y[idx]).item(), logits


def run():
    torch.manual_seed(0)
    x, y, adj, train, val = citation_graph()
    model = GCN(10, 16, 3)
    optimizer = torch.optim.Adam(
        [{"params": model.conv1.parameters(), "weight_decay": 5e-4}, {"params": model.conv2.parameters()}], lr=0.01
    )
    stop = EarlyStopping(patience=3)
    for _ in range(4):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x, adj)[train], y[train]).backward()
        optimizer.step()
        if stop(evaluate(model, x, adj, y, val)[0], model):
            break
    model.load_state_dict(stop.state)
    return evaluate(model, x, adj, y, val)[1], evaluate(model, x, adj, y, val)[1]


def verify(outcome):
    once, again = outcome
    assert not torch.allclose(once, again)


TRUTH = Truth(
    fault="F.dropout is in training mode by default, so model.eval() does not turn it off",
    names=("dropout",),
    repair=("h = F.dropout(h, self.dropout, training=self.training)",),
)
