"""Graphs: messages are added with `agg[dst] += msg`, where repeated destinations keep one message only."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SAGEConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin_l = nn.Linear(in_channels, out_channels)
        self.lin_r = nn.Linear(in_channels, out_channels, bias=False)

    def message(self, x, edge_index, edge_weight):
        return x[edge_index[0]] * edge_weight.view(-1, 1)

    def aggregate(self, msg, edge_index, num_nodes):
        dst = edge_index[1]
        agg = msg.new_zeros(num_nodes, msg.size(1))
        agg[dst] += msg  # cause
        deg = torch.bincount(dst, minlength=num_nodes).clamp(min=1).view(-1, 1)
        return agg / deg

    def forward(self, x, edge_index, edge_weight):
        msg = self.message(x, edge_index, edge_weight)
        out = self.aggregate(msg, edge_index, x.size(0))
        return F.normalize(self.lin_l(out) + self.lin_r(x), dim=-1)


class EdgeGate(nn.Module):
    """One learned weight for each edge of the (fixed) graph."""

    def __init__(self, num_edges):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(num_edges))

    def forward(self):
        return torch.sigmoid(self.logits)


class GraphSAGE(nn.Module):
    def __init__(self, in_channels, hidden, out_channels, num_edges):
        super().__init__()
        self.gate = EdgeGate(num_edges)
        self.conv1 = SAGEConv(in_channels, hidden)
        self.conv2 = SAGEConv(hidden, out_channels)

    def forward(self, x, edge_index):
        w = self.gate()
        x = F.relu(self.conv1(x, edge_index, w))
        x = F.dropout(x, p=0.2, training=self.training)
        return F.log_softmax(self.conv2(x, edge_index, w), dim=-1)


def random_graph(n, degree):
    src = torch.randint(0, n, (n * degree,))
    dst = torch.arange(n).repeat_interleave(degree)
    return torch.stack([src, dst])


def train(model, data, optimizer):
    model.train()
    optimizer.zero_grad()
    out = model(data["x"], data["edge_index"])
    loss = F.nll_loss(out[data["train_mask"]], data["y"][data["train_mask"]])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def test(model, data):
    model.eval()
    pred = model(data["x"], data["edge_index"]).argmax(dim=-1)
    return [(pred[m] == data["y"][m]).float().mean().item() for m in (data["train_mask"], ~data["train_mask"])]


def run():
    torch.manual_seed(12345)
    n, degree = 20, 4
    data = {
        "x": torch.randn(n, 6),
        "edge_index": random_graph(n, degree),
        "y": torch.randint(0, 3, (n,)),
        "train_mask": torch.ones(n, dtype=torch.bool),
    }
    data["train_mask"][15:] = False
    model = GraphSAGE(6, 8, 3, n * degree)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        train(model, data, optimizer)
        test(model, data)
    return model.conv1.aggregate(torch.ones(n * degree, 1), data["edge_index"], n)


def verify(mean_of_ones):
    assert torch.allclose(mean_of_ones, torch.full_like(mean_of_ones, 0.25))


TRUTH = Truth(
    fault="agg[dst] += msg keeps one message per node; the others are lost, yet get gradients as if they counted",
    names=("dst",),
    repair=("agg = agg.index_add(0, dst, msg)",),
)
