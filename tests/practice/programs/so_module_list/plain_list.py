"""Multi-scale conv net: the branches are kept in a Python list, so they are no parameters of the model."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Branch(nn.Module):
    def __init__(self, c_in, c_out, kernel):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, kernel, padding=kernel // 2)
        self.bn = nn.BatchNorm1d(c_out)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class InceptionTime(nn.Module):
    def __init__(self, c_in=2, width=4, kernels=(3, 5, 7), n_classes=3):
        super().__init__()
        self.bottleneck = nn.Conv1d(c_in, width, 1, bias=False)
        self.branches = []  # cause
        for k in kernels:
            self.branches.append(Branch(width, width, k))
        self.classifier = nn.Linear(width * len(kernels), n_classes)

    def forward(self, x):
        x = self.bottleneck(x)
        x = torch.cat([b(x) for b in self.branches], dim=1)
        return self.classifier(x.amax(-1))


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def run():
    torch.manual_seed(0)
    model = InceptionTime()
    n = count_parameters(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    before = [b.conv.weight.detach().clone() for b in model.branches]
    first = model.bottleneck.weight.detach().clone()
    for epoch in range(3):
        x = torch.randn(12, 2, 16)
        y = torch.arange(12) % 3
        x[y == 1] += torch.linspace(0, 3, 16)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    same = [torch.equal(a, b.conv.weight) for a, b in zip(before, model.branches)]
    return same, torch.equal(first, model.bottleneck.weight), n


def verify(outcome):
    same, bottleneck_same, _ = outcome
    assert all(same) and not bottleneck_same


TRUTH = Truth(
    fault="the branches are in a plain list and not in an nn.ModuleList, so parameters() does not give them to the optimizer",
    names=("branches",),
    repair=("self.branches = nn.ModuleList()",),
)
