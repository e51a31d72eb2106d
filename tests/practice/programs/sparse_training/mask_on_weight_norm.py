"""Sparse training: the pruning mask is written to .weight of a layer with weight_norm, a tensor computed anew at each use."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class GeneClassifier(nn.Module):
    def __init__(self, genes=20, types=3):
        super().__init__()
        self.gate = weight_norm(nn.Linear(genes, 10))
        self.out = nn.Linear(10, types)

    def forward(self, x):
        return self.out(F.relu(self.gate(x)))


class MagnitudePruner:
    def __init__(self, layer, sparsity):
        self.layer = layer
        magnitude = layer.weight.detach().abs()
        threshold = magnitude.flatten().kthvalue(int(sparsity * magnitude.numel())).values
        self.mask = (magnitude > threshold).float()

    @torch.no_grad()
    def apply(self):
        self.layer.weight.mul_(self.mask)  # cause

    def sparsity(self):
        return (self.layer.weight == 0).float().mean().item()


def run():
    torch.manual_seed(0)
    model = GeneClassifier()
    pruner = MagnitudePruner(model.gate, 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(32, 20)
    y = x[:, :3].argmax(1)
    pruner.apply()
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        pruner.apply()
    return pruner.sparsity()


def verify(outcome):
    assert outcome < 0.01


TRUTH = Truth(
    fault="the mask is multiplied into a temporary tensor; the parametrized weight stays dense",
    names=("weight", "mul_"),
    repair=("self.layer.weight = self.layer.weight * self.mask",),
)
