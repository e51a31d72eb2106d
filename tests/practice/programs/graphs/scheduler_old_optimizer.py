"""Graphs: the optimizer is rebuilt when the encoder thaws, and the scheduler goes on stepping the old one."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class GINConv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.BatchNorm1d(2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.edge = nn.Embedding(3, dim)

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        msg = F.relu(x[src] + self.edge(edge_attr))
        return self.mlp((1 + self.eps) * x + torch.zeros_like(x).index_add_(0, dst, msg))


class GNN(nn.Module):
    def __init__(self, atoms=8, dim=12, layers=2, drop=0.1):
        super().__init__()
        self.atom = nn.Embedding(atoms, dim)
        self.convs = nn.ModuleList(GINConv(dim) for _ in range(layers))
        self.drop = drop

    def forward(self, x, edge_index, edge_attr):
        h = self.atom(x)
        for i, conv in enumerate(self.convs):
            h = conv(h, edge_index, edge_attr)
            h = F.dropout(h if i == len(self.convs) - 1 else F.relu(h), self.drop, self.training)
        return h


class GraphPred(nn.Module):
    def __init__(self, dim=12, tasks=2):
        super().__init__()
        self.gnn = GNN(dim=dim)
        self.pred = nn.Linear(dim, tasks)

    def forward(self, batch):
        h = self.gnn(batch["x"], batch["edge_index"], batch["edge_attr"])
        size = int(batch["batch"].max()) + 1
        pooled = h.new_zeros(size, h.size(1)).index_add(0, batch["batch"], h)
        return self.pred(pooled / torch.bincount(batch["batch"], minlength=size)[:, None])


def molecules(n, atoms=5):
    x = torch.randint(0, 8, (n * atoms,))
    src = torch.arange(n * atoms)
    dst = src // atoms * atoms + (src + 1) % atoms
    edges = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    y = torch.randint(0, 2, (n, 2)).float()
    y[torch.rand(n, 2) < 0.2] = float("nan")
    return {
        "x": x,
        "edge_index": edges,
        "edge_attr": torch.randint(0, 3, (edges.size(1),)),
        "batch": src // atoms,
        "y": y,
    }


class Finetuner:
    def __init__(self, model, lr=1e-2, thaw_epoch=2, epochs=6):
        self.model, self.lr, self.thaw_epoch = model, lr, thaw_epoch
        model.gnn.requires_grad_(False)
        self.optimizer = torch.optim.Adam(model.pred.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.5)

    def thaw(self):
        self.model.gnn.requires_grad_(True)
        groups = [
            {"params": self.model.gnn.parameters(), "lr": 0.1 * self.lr},
            {"params": self.model.pred.parameters()},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=self.lr)  # cause

    def epoch(self, number, batches):
        if number == self.thaw_epoch:
            self.thaw()
        self.model.train()
        for batch in batches:
            pred, y = self.model(batch), batch["y"]
            valid = ~torch.isnan(y)
            loss = F.binary_cross_entropy_with_logits(pred[valid], y[valid])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.scheduler.step()
        return [g["lr"] for g in self.optimizer.param_groups]


def run():
    torch.manual_seed(0)
    tuner = Finetuner(GraphPred())
    batches = [molecules(4) for _ in range(2)]
    return [tuner.epoch(i, batches) for i in range(5)]


def verify(rates):
    assert rates[0] != rates[1] and rates[2] == rates[3] == rates[4]


TRUTH = Truth(
    fault="after thawing the scheduler holds the old optimizer, the new one's learning rate never changes",
    names=("scheduler", "lr"),
    repair=(
        "self.optimizer = torch.optim.Adam(groups, lr=self.lr)\nself.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.5)",
    ),
)
