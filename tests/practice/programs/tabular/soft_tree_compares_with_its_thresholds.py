"""A soft decision tree whose splits became hard: features are compared with learned thresholds."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ObliviousTree(nn.Module):
    def __init__(self, features, depth=3, classes=2):
        super().__init__()
        self.select = nn.Parameter(torch.randn(features, depth))
        self.threshold = nn.Parameter(torch.zeros(depth))
        self.response = nn.Parameter(torch.randn(2**depth, classes) * 0.1)
        codes = torch.arange(2**depth)[:, None] >> torch.arange(depth) & 1
        self.register_buffer("codes", codes.float())

    def forward(self, x):
        chosen = x @ self.select.softmax(0)
        right = (chosen > self.threshold).float()  # cause
        path = right[:, None] * self.codes + (1 - right[:, None]) * (1 - self.codes)
        return path.prod(-1) @ self.response


class Forest(nn.Module):
    def __init__(self, features=6, trees=4):
        super().__init__()
        self.norm = nn.BatchNorm1d(features, affine=False)
        self.trees = nn.ModuleList(ObliviousTree(features) for _ in range(trees))

    def forward(self, x):
        x = self.norm(x)
        return torch.stack([tree(x) for tree in self.trees]).mean(0)


def run():
    torch.manual_seed(0)
    x = torch.randn(128, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    forest = Forest()
    start = forest.trees[0].threshold.detach().clone()
    opt = torch.optim.Adam(forest.parameters(), lr=0.02)
    for _ in range(3):
        for batch, target in zip(x.split(32), y.split(32)):
            opt.zero_grad()
            F.cross_entropy(forest(batch), target).backward()
            opt.step()
    return start, forest.trees[0].threshold


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="a comparison passes no gradient to thresholds and selectors",
    names=("threshold",),
    repair=("right = torch.sigmoid((chosen - self.threshold) / 0.5)",),
)
