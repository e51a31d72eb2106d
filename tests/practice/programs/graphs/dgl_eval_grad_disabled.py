"""Graphs: the evaluation switches gradients off by a call instead of a with block, for the rest of the run."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    nodes: int = 30
    in_feats: int = 8
    hidden: int = 8
    heads: int = 2
    classes: int = 3
    lr: float = 5e-3
    epochs: int = 3
    patience: int = 5


class Graph:
    def __init__(self, src, dst, n):
        loops = torch.arange(n)
        self.src, self.dst, self.n = torch.cat([src, loops]), torch.cat([dst, loops]), n
        self.ndata = {}

    def edge_softmax(self, scores):
        index = self.dst[:, None].expand_as(scores)
        top = scores.new_full((self.n, scores.size(1)), float("-inf"))
        top = top.scatter_reduce(0, index, scores.detach(), "amax")
        e = torch.exp(scores - top[self.dst])
        total = torch.zeros_like(top).index_add(0, self.dst, e)
        return e / total[self.dst]

    def update_all(self, messages):
        out = messages.new_zeros(self.n, *messages.shape[1:])
        return out.index_add(0, self.dst, messages)


class GATConv(nn.Module):
    def __init__(self, fin, fout, heads):
        super().__init__()
        self.fc = nn.Linear(fin, fout * heads, bias=False)
        self.attn_l = nn.Parameter(torch.randn(1, heads, fout) * 0.1)
        self.attn_r = nn.Parameter(torch.randn(1, heads, fout) * 0.1)
        self.heads, self.fout = heads, fout

    def forward(self, g, h):
        z = self.fc(h).view(-1, self.heads, self.fout)
        el, er = (z * self.attn_l).sum(-1), (z * self.attn_r).sum(-1)
        a = g.edge_softmax(F.leaky_relu(el[g.src] + er[g.dst], 0.2))
        return g.update_all(z[g.src] * a[..., None])


class GAT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layer1 = GATConv(cfg.in_feats, cfg.hidden, cfg.heads)
        self.layer2 = GATConv(cfg.hidden * cfg.heads, cfg.classes, 1)
        self.drop = nn.Dropout(0.3)

    def forward(self, g, h):
        h = F.elu(self.layer1(g, self.drop(h)).flatten(1))
        return self.layer2(g, self.drop(h)).mean(1)


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.counter = patience, -1.0, 0

    def step(self, acc):
        self.counter = 0 if acc > self.best else self.counter + 1
        self.best = max(self.best, acc)
        return self.counter >= self.patience


def evaluate(g, model, mask):
    model.eval()
    torch.set_grad_enabled(False)  # cause
    logits = model(g, g.ndata["feat"])[mask]
    return (logits.argmax(1) == g.ndata["label"][mask]).float().mean().item()


def train(g, model, cfg):
    train_mask, val_mask = g.ndata["train_mask"], g.ndata["val_mask"]
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=5e-4)
    stopper, history = EarlyStopping(cfg.patience), []
    for epoch in range(cfg.epochs):
        model.train()
        logits = model(g, g.ndata["feat"])
        loss = F.cross_entropy(logits[train_mask], g.ndata["label"][train_mask])
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        acc = evaluate(g, model, val_mask)
        history.append((loss.item(), acc))
        if stopper.step(acc):
            break
    return history


def build(cfg):
    g = Graph(torch.randint(cfg.nodes, (90,)), torch.randint(cfg.nodes, (90,)), cfg.nodes)
    g.ndata["feat"] = torch.randn(cfg.nodes, cfg.in_feats)
    g.ndata["label"] = g.ndata["feat"][:, : cfg.classes].argmax(1)
    g.ndata["train_mask"] = torch.arange(cfg.nodes) < 20
    g.ndata["val_mask"] = ~g.ndata["train_mask"]
    return g


def run():
    torch.manual_seed(0)
    cfg = Config()
    with torch.enable_grad():  # what the run leaves behind is put back
        return train(build(cfg), GAT(cfg), cfg)


TRUTH = Truth(
    fault="torch.set_grad_enabled(False) as a call is not undone: from the second epoch on no graph is built",
    raises="element 0 of tensors does not require grad",
    names=("set_grad_enabled",),
    repair=(
        "with torch.no_grad(): return (model(g, g.ndata['feat'])[mask].argmax(1) == g.ndata['label'][mask]).float().mean().item()",
    ),
)
