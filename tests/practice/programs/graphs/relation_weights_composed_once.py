"""R-GCN with a basis decomposition: the relations' matrices are composed in the constructor."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RelationalConv(nn.Module):
    def __init__(self, din, dout, relations, bases=2):
        super().__init__()
        self.basis = nn.Parameter(torch.randn(bases, din, dout) / din**0.5)
        self.comp = nn.Parameter(torch.randn(relations, bases))
        self.root = nn.Linear(din, dout)
        self.weight = torch.einsum("rb,bio->rio", self.comp, self.basis)  # cause

    def forward(self, x, edges, kinds):
        src, dst = edges
        out = self.root(x)
        for relation in range(len(self.weight)):
            chosen = kinds == relation
            messages = x[src[chosen]] @ self.weight[relation]
            out = out.index_add(0, dst[chosen], messages)
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = RelationalConv(7, 12, 3)
        self.second = RelationalConv(12, 4, 3)

    def forward(self, x, edges, kinds):
        return self.second(F.relu(self.first(x, edges, kinds)), edges, kinds)


def run():
    torch.manual_seed(0)
    x, y = torch.randn(20, 7), torch.randint(4, (20,))
    edges, kinds = torch.randint(20, (2, 60)), torch.randint(3, (60,))
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        opt.zero_grad()
        loss = F.cross_entropy(model(x, edges, kinds), y)
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the product of the coefficients and the bases is formed once, its graph is freed by the first backward",
    raises="Trying to backward through the graph a second time",
    names=("einsum",),
    repair=("type(self).weight = property(lambda self: torch.einsum('rb,bio->rio', self.comp, self.basis))",),
)
