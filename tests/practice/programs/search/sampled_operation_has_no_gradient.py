"""A one-shot search samples an operation, and runs it without the probability that chose it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(dim, dim), nn.Sequential(nn.Linear(dim, dim), nn.ReLU()), nn.Identity()])
        self.alpha = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        gate = F.gumbel_softmax(self.alpha, tau=0.5, hard=True)
        chosen = gate.argmax().item()  # cause
        return self.ops[chosen](x)


class OneShot(nn.Module):
    def __init__(self, cells=3, dim=8):
        super().__init__()
        self.cells = nn.ModuleList(Cell(dim) for _ in range(cells))
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        for cell in self.cells:
            x = cell(x)
        return self.head(x)

    def genotype(self):
        return [cell.alpha.argmax().item() for cell in self.cells]


def run():
    torch.manual_seed(0)
    model = OneShot()
    alphas = [cell.alpha for cell in model.cells]
    weights = [p for name, p in model.named_parameters() if "alpha" not in name]
    opt = torch.optim.Adam([{"params": weights, "lr": 1e-3}, {"params": alphas, "lr": 3e-3}])
    for _ in range(5):
        x = torch.randn(16, 8)
        opt.zero_grad()
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
    print(model.genotype())
    return [alpha.grad for alpha in alphas]


def verify(out):
    assert out == [None, None, None]


TRUTH = Truth(
    fault="the gate chooses and does not weigh",
    names=("alpha",),
    repair=("return sum(share * op(x) for share, op in zip(gate, self.ops))",),
)
