"""Graph pooling by indexed addition: nodes that share a graph overwrite each other instead of adding up."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class NodeEncoder(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.lin1 = nn.Linear(dim, width)
        self.lin2 = nn.Linear(width, width)

    def forward(self, nodes):
        return self.lin2(F.relu(self.lin1(nodes)))


class GraphRegressor(nn.Module):
    def __init__(self, dim=4, width=8):
        super().__init__()
        self.encoder = NodeEncoder(dim, width)
        self.readout = nn.Linear(width, 1)
        self.captured = None

    def forward(self, nodes, graph, graphs):
        h = self.encoder(nodes)
        if h.requires_grad:
            h.retain_grad()
            self.captured = h
        pooled = h.new_zeros(graphs, h.shape[1])
        pooled[graph] += h  # cause
        return self.readout(pooled).squeeze(-1)


def batch(graphs=4):
    sizes = torch.randint(2, 5, (graphs,))
    graph = torch.repeat_interleave(torch.arange(graphs), sizes)
    nodes = torch.randn(int(sizes.sum()), 4)
    target = torch.zeros(graphs).index_add(0, graph, nodes[:, 0])
    return nodes, graph, target


def run():
    torch.manual_seed(0)
    model = GraphRegressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    shares = []
    for _ in range(3):
        nodes, graph, target = batch()
        pred = model(nodes, graph, len(target))
        loss = F.mse_loss(pred, target)
        optimizer.zero_grad()
        loss.backward()
        used = model.captured
        with torch.no_grad():
            total = torch.zeros(len(target), used.shape[1]).index_add(0, graph, used)
            shares.append((model.readout(total).squeeze(-1) - pred).abs().max().item())
        optimizer.step()
    return shares


def verify(outcome):
    # the prediction is not that of the sum of the nodes
    assert min(outcome) > 1e-3


TRUTH = Truth(
    fault="pooled[graph] += h writes each row once: with repeated indices only one node of a graph counts",
    names=("index_put",),
    repair=("pooled = pooled.index_add(0, graph, h)",),
)
