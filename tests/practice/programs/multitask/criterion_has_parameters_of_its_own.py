"""Center loss: the centres are parameters of the criterion, and the optimizer knows the network alone."""

import torch
from torch import nn

from tests.practice.truth import Truth


class CenterLoss(nn.Module):
    def __init__(self, classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def forward(self, features, y):
        return (features - self.centers[y]).pow(2).sum(1).mean()


def run():
    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), nn.Linear(4, 3)
    center = CenterLoss(3, 4)
    net = nn.ModuleDict({"body": body, "head": head})
    opt = torch.optim.Adam(net.parameters(), 1e-2)  # cause
    start = center.centers.detach().clone()
    for _ in range(3):
        x, y = torch.randn(12, 8), torch.randint(3, (12,))
        f = body(x)
        loss = nn.functional.cross_entropy(head(f), y) + 0.1 * center(f, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(center.centers, start)


def verify(same):
    assert same


TRUTH = Truth(
    fault="the centres are in no optimizer",
    names=("centers",),
    repair=("opt = torch.optim.Adam([*net.parameters(), *center.parameters()], 1e-2)",),
)
