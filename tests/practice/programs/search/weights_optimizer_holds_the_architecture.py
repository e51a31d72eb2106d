"""DARTS: the optimizer of the weights gets `model.parameters()`, among which are the architecture's."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MixedOp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ops = nn.ModuleList([nn.Identity(), nn.Linear(dim, dim), nn.Sequential(nn.ReLU(), nn.Linear(dim, dim))])

    def forward(self, x, weights):
        return sum(weight * op(x) for weight, op in zip(weights, self.ops))


class Network(nn.Module):
    def __init__(self, dim=8, edges=2, classes=3):
        super().__init__()
        self.edges = nn.ModuleList(MixedOp(dim) for _ in range(edges))
        self.head = nn.Linear(dim, classes)
        self.alphas = nn.Parameter(1e-3 * torch.randn(edges, 3))

    def forward(self, x):
        for edge, alpha in zip(self.edges, self.alphas.softmax(-1)):
            x = edge(x, alpha)
        return self.head(x)

    def arch_parameters(self):
        return [self.alphas]


def run():
    torch.manual_seed(0)
    model = Network()
    weights = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=3e-4)  # cause
    architecture = torch.optim.Adam(model.arch_parameters(), lr=3e-3, betas=(0.5, 0.999))  # also
    for _ in range(3):
        x, y = torch.randn(12, 8), torch.randint(3, (12,))
        x_val, y_val = torch.randn(12, 8), torch.randint(3, (12,))
        architecture.zero_grad()
        F.cross_entropy(model(x_val), y_val).backward()
        architecture.step()
        before = model.alphas.detach().clone()
        weights.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        weights.step()
    return before, model.alphas


def verify(out):
    assert not torch.equal(*out)


TRUTH = Truth(
    fault="the training data move the architecture too",
    names=("alphas",),
    repair=(
        "weights = torch.optim.SGD([p for p in model.parameters() if p is not model.alphas], lr=0.05, momentum=0.9)",
    ),
)
