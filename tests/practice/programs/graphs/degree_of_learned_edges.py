"""GCN, learned edge weights: 1/sqrt(0) of nodes without edges is masked afterwards, which leaves NaN gradients."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EdgeGate(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(2 * dim, 1)

    def forward(self, x, edge_index):
        src, dst = edge_index
        return torch.sigmoid(self.score(torch.cat([x[src], x[dst]], dim=1))).squeeze(1)


def gcn_norm(edge_index, edge_weight, n):
    src, dst = edge_index
    deg = torch.zeros(n).scatter_add(0, dst, edge_weight)
    inv_sqrt = deg.pow(-0.5)  # cause
    inv_sqrt = inv_sqrt.masked_fill(inv_sqrt == float("inf"), 0.0)  # also
    return inv_sqrt[src] * edge_weight * inv_sqrt[dst]


class GatedGCN(nn.Module):
    def __init__(self, inp, hidden, classes):
        super().__init__()
        self.gate = EdgeGate(inp)
        self.lin1 = nn.Linear(inp, hidden)
        self.lin2 = nn.Linear(hidden, classes)

    def propagate(self, x, edge_index, norm):
        src, dst = edge_index
        return torch.zeros_like(x).index_add(0, dst, norm[:, None] * x[src])

    def forward(self, x, edge_index):
        weight = self.gate(x, edge_index)
        if self.training:  # DropEdge
            weight = weight * (torch.rand_like(weight) > 0.4)
        norm = gcn_norm(edge_index, weight, len(x))
        h = F.relu(self.propagate(self.lin1(x), edge_index, norm))
        h = F.dropout(h, 0.5, self.training)
        return self.propagate(self.lin2(h), edge_index, norm).log_softmax(1)


def citation_graph(n=12):
    src = torch.arange(n - 1)  # node 0 is cited by nobody, cites one
    dst = torch.arange(1, n)
    extra = torch.tensor([[3, 5, 7], [8, 9, 2]])
    return torch.randn(n, 5), torch.cat([torch.stack([src, dst]), extra], 1), torch.randint(0, 3, (n,))


def run():
    torch.manual_seed(0)
    x, edge_index, y = citation_graph()
    train_mask = torch.rand(12) < 0.8
    model = GatedGCN(5, 8, 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    first_loss = None
    for epoch in range(2):
        model.train()
        out = model(x, edge_index)
        loss = F.nll_loss(out[train_mask], y[train_mask])
        first_loss = loss.item() if first_loss is None else first_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x, edge_index).argmax(1) == y)[~train_mask].float().mean()
    print(f"loss {first_loss:.3f} acc {acc:.2f}")
    return model


def verify(out):
    assert out.gate.score.weight.isnan().all()


TRUTH = Truth(
    fault="the masked infinity's gradient is NaN",
    names=("gate.score",),
    values=True,
    repair=("inv_sqrt = torch.where(deg > 0, deg, 1.0).pow(-0.5)",),
)
