"""A radiance field whose density is relu of a number that starts far below 0: it never gets a gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 8)
        self.density, self.colour = nn.Linear(8, 1), nn.Linear(8, 3)
        nn.init.constant_(self.density.bias, -10.0)  # also

    def forward(self, points):
        h = self.trunk(points).tanh()
        return self.density(h).relu(), self.colour(h).sigmoid()  # cause


def run():
    torch.manual_seed(0)
    field = Field()
    opt = torch.optim.Adam(field.parameters(), lr=1e-2)
    for _ in range(2):
        density, colour = field(torch.rand(4, 6, 3))
        alpha = 1 - (-density.squeeze(-1) * 0.1).exp()
        through = torch.cumprod(1 - alpha + 1e-10, 1)
        pixel = ((alpha * through).unsqueeze(-1) * colour).sum(1)
        loss = (pixel - 0.5).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return field.density.weight.grad.abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="relu is zero everywhere, and so is its derivative",
    values=True,
    names=("relu",),
    repair=("return F.softplus(self.density(h) + 10), self.colour(h).sigmoid()",),
)
