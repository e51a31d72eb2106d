"""Graphs: scatter_add_ became index_add without its underscore, and the aggregated messages are dropped."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    num_nodes: int = 24
    num_edges: int = 80
    in_dim: int = 6
    edge_dim: int = 3
    hidden: int = 16
    num_classes: int = 3
    lr: float = 1e-2
    epochs: int = 3


@dataclass
class Data:
    x: torch.Tensor
    edge_index: torch.Tensor
    edge_attr: torch.Tensor
    y: torch.Tensor
    train_mask: torch.Tensor


class MessagePassing(nn.Module):
    def aggregate(self, msg, index, dim_size):
        out = msg.new_zeros(dim_size, msg.size(-1))
        out.index_add(0, index, msg)  # cause
        deg = torch.bincount(index, minlength=dim_size).clamp(min=1)
        return out / deg.unsqueeze(-1)

    def propagate(self, edge_index, x, edge_attr):
        src, dst = edge_index
        msg = self.message(x[src], x[dst], edge_attr)
        return self.aggregate(msg, dst, x.size(0))


class EdgeSAGEConv(MessagePassing):
    def __init__(self, in_channels, edge_dim, out_channels):
        super().__init__()
        self.lin_msg = nn.Linear(2 * in_channels + edge_dim, out_channels)
        self.lin_self = nn.Linear(in_channels, out_channels)

    def message(self, x_j, x_i, edge_attr):
        return F.relu(self.lin_msg(torch.cat([x_i, x_j, edge_attr], dim=-1)))

    def forward(self, x, edge_index, edge_attr):
        return self.lin_self(x) + self.propagate(edge_index, x, edge_attr)


class GNN(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.conv1 = EdgeSAGEConv(cfg.in_dim, cfg.edge_dim, cfg.hidden)
        self.conv2 = EdgeSAGEConv(cfg.hidden, cfg.edge_dim, cfg.hidden)
        self.norm = nn.LayerNorm(cfg.hidden)
        self.lin = nn.Linear(cfg.hidden, cfg.num_classes)
        self.dropout = nn.Dropout(0.2)

    def forward(self, data):
        h = F.relu(self.norm(self.conv1(data.x, data.edge_index, data.edge_attr)))
        h = self.conv2(self.dropout(h), data.edge_index, data.edge_attr)
        return self.lin(F.relu(h))


def make_data(cfg):
    mask = torch.zeros(cfg.num_nodes, dtype=torch.bool)
    mask[: cfg.num_nodes // 2] = True
    return Data(
        x=torch.randn(cfg.num_nodes, cfg.in_dim),
        edge_index=torch.randint(cfg.num_nodes, (2, cfg.num_edges)),
        edge_attr=torch.randn(cfg.num_edges, cfg.edge_dim),
        y=torch.randint(cfg.num_classes, (cfg.num_nodes,)),
        train_mask=mask,
    )


def train(model, data, optimizer):
    model.train()
    optimizer.zero_grad()
    out = model(data)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    return float(loss)


@torch.no_grad()
def test(model, data):
    model.eval()
    pred = model(data).argmax(dim=-1)
    return float((pred == data.y)[~data.train_mask].float().mean())


def run():
    torch.manual_seed(12345)
    cfg = Config()
    data, model = make_data(cfg), GNN(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=0.0)
    before = model.conv1.lin_msg.weight.detach().clone()
    for _ in range(cfg.epochs):
        train(model, data, optimizer)
        test(model, data)
    return before, model.conv1.lin_msg.weight.detach()


def verify(outcome):
    before, after = outcome
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="index_add returns a new tensor which nobody keeps: no message is aggregated and the lin_msg layers get no gradient",
    names=("lin_msg",),
    repair=("out.index_add_(0, index, msg)",),
)
