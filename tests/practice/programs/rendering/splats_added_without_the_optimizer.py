"""Splatting: densification makes new parameters, and the optimizer goes on with the old ones."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Splats(nn.Module):
    def __init__(self):
        super().__init__()
        self.xyz = nn.Parameter(torch.randn(10, 2))
        self.colour = nn.Parameter(torch.rand(10))

    def densify(self):
        self.xyz = nn.Parameter(torch.cat([self.xyz.detach(), self.xyz.detach()[:3] + 0.1]))  # cause
        self.colour = nn.Parameter(torch.cat([self.colour.detach(), self.colour.detach()[:3]]))  # also

    def forward(self, points):
        return (-torch.cdist(points, self.xyz).pow(2)).exp() @ self.colour


def run():
    torch.manual_seed(0)
    splats = Splats()
    opt = torch.optim.Adam(splats.parameters(), lr=1e-2)
    points, image = torch.randn(20, 2), torch.rand(20)
    for step in range(4):
        loss = (splats(points) - image).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step == 1:
            splats.densify()
            before = splats.xyz.detach().clone()
    return (splats.xyz - before).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the new splats are in no optimizer",
    names=("xyz",),
    repair=("return",),
)
