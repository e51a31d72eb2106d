"""Guidance drops labels by zeros; the learned null embedding is in the optimizer, and in no graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.labels = nn.Embedding(3, 4)
        self.null = nn.Parameter(torch.zeros(4))
        self.net = nn.Linear(8, 4)

    def forward(self, x, y, drop):
        condition = self.labels(y)
        condition = torch.where(drop[:, None], torch.zeros_like(condition), condition)  # cause
        return self.net(torch.cat([x, condition], 1))


def run():
    torch.manual_seed(0)
    model = Denoiser()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        x, y, drop = torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.arange(8) % 4 == 0
        loss = (model(x, y, drop) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.null.grad


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="the null embedding gets no gradient",
    names=("null",),
    minor=True,
    repair=("condition = torch.where(drop[:, None], self.null, condition)",),
)
