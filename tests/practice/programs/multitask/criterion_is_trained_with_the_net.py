"""Center loss whose centres have an optimizer of their own, with the weight divided out of their gradient."""

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
    body, head, center = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), nn.Linear(4, 3), CenterLoss(3, 4)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-2)
    opt_center = torch.optim.SGD(center.parameters(), 0.5)
    weight = 0.01
    for _ in range(3):
        x, y = torch.randn(12, 8), torch.randint(3, (12,))
        f = body(x)
        loss = nn.functional.cross_entropy(head(f), y) + weight * center(f, y)
        opt.zero_grad()
        opt_center.zero_grad()
        loss.backward()
        for p in center.parameters():
            p.grad.data *= 1 / weight
        opt.step()
        opt_center.step()
    return center


TRUTH = Truth()
