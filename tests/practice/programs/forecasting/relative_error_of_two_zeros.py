"""Intermittent demand: a rectified forecast of nothing meets a demand of nothing in a relative error."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Demand(nn.Module):
    def __init__(self, window=8, hidden=12):
        super().__init__()
        self.conv = nn.Conv1d(1, hidden, 3, padding=1)
        self.out = nn.Linear(hidden, 1)
        nn.init.constant_(self.out.bias, -0.5)

    def forward(self, x):
        h = torch.relu(self.conv(x.unsqueeze(1))).mean(-1)
        return torch.relu(self.out(h)).squeeze(-1)


def smape(prediction, target):
    gap = (prediction - target).abs()
    size = prediction.abs() + target.abs()
    return (2 * gap / size).mean()  # cause


def run():
    torch.manual_seed(0)
    model = Demand()
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    sales = torch.poisson(torch.full((32, 9), 0.6))
    for week in range(3):
        opt.zero_grad()
        prediction = model(sales[:, :8])
        loss = smape(prediction, sales[:, 8])
        loss.backward()
        opt.step()
    return loss


def verify(out):
    assert out.isnan()


TRUTH = Truth(
    fault="0 / 0 where forecast and demand are both 0",
    values=True,
    repair=("return (2 * gap / (size + 1e-6)).mean()",),
)
