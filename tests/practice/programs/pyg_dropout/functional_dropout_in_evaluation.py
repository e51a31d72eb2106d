"""PyG-tutorial-like GAT: F.dropout without training=: it drops in evaluation, too, and early stopping follows noise."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class GATConv(nn.Module):
    def __init__(self, cin, cout, heads=2):
        super().__init__()
        self.heads, self.cout = heads, cout
        self.lin = nn.Linear(cin, heads * cout, bias=False)
        self.att_src, self.att_dst = (nn.Parameter(torch.randn(heads, cout) * 0.3) for _ in range(2))

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.lin(x).view(-1, self.heads, self.cout)
        e = F.leaky_relu((h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst], 0.2)
        e = (e - e.max().detach()).exp()
        norm = torch.zeros(len(x), self.heads).index_add(0, dst, e)
        alpha = e / norm[dst]
        out = torch.zeros_like(h).index_add(0, dst, h[src] * alpha.unsqueeze(-1))
        return out.flatten(1)


class GAT(nn.Module):
    def __init__(self, cin, hidden, classes):
        super().__init__()
        self.conv1 = GATConv(cin, hidden)
        self.conv2 = GATConv(2 * hidden, classes, heads=1)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.6)  # cause
        x = F.elu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.6)  # cause
        return self.conv2(x, edge_index)


def train(model, optimizer, data, mask):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(data["x"], data["edge_index"])[mask], data["y"][mask])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def test(model, data):
    model.eval()
    return model(data["x"], data["edge_index"])


def run():
    torch.manual_seed(0)
    n = 20
    ring = torch.arange(n)
    data = {
        "x": torch.randn(n, 6),
        "edge_index": torch.stack([ring.repeat(3), torch.cat([ring, ring.roll(1), ring.roll(-1)])]),
        "y": torch.randint(0, 3, (n,)),
    }
    model = GAT(6, 8, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    mask = torch.arange(n) < 12
    for _ in range(3):
        train(model, optimizer, data, mask)
        test(model, data)
    return test(model, data), test(model, data)


def verify(outcome):
    one, other = outcome
    assert not torch.equal(one, other)


TRUTH = Truth(
    fault="F.dropout has training=True by default: model.eval() does not reach it and evaluation is random",
    names=("dropout",),
    repair=("x = F.dropout(x, p=0.6, training=self.training)", "x = F.dropout(x, p=0.6, training=self.training)"),
)
