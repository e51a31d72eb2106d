"""Image registration by the overlap of labels: the moving labels are warped with mode="nearest"."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Registration(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(8, 8, 3, padding=1), nn.LeakyReLU(0.2)
        )
        self.flow = nn.Conv2d(8, 2, 3, padding=1)
        nn.init.normal_(self.flow.weight, std=1e-2)

    def forward(self, moving, fixed):
        return self.flow(self.net(torch.cat([moving, fixed], 1)))


class Warp(nn.Module):
    def __init__(self, size):
        super().__init__()
        rows, columns = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
        self.register_buffer("identity", torch.stack([columns, rows], -1).unsqueeze(0))

    def forward(self, image, flow, mode="bilinear"):
        grid = self.identity + flow.permute(0, 2, 3, 1)
        return F.grid_sample(image, grid, mode=mode, padding_mode="border", align_corners=True)


def dice(a, b, eps=1e-5):
    overlap = (a * b).sum((2, 3))
    return 1 - ((2 * overlap + eps) / (a.sum((2, 3)) + b.sum((2, 3)) + eps)).mean()


def pairs(n=3, size=12):
    for _ in range(n):
        fixed = F.one_hot((torch.randn(2, size, size) > 0).long(), 2).permute(0, 3, 1, 2).float()
        moving = fixed.roll(1, -1)
        yield moving, fixed


def run():
    torch.manual_seed(0)
    net, warp = Registration(), Warp(12)
    before = net.net[0].weight.detach().clone()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for moving, fixed in pairs():
        flow = net(moving[:, :1], fixed[:, :1])
        warped = warp(moving, flow, mode="nearest")  # cause
        loss = dice(warped, fixed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.net[0].weight, before


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="sampling the nearest pixel has a gradient of zero for the flow",
    names=("nearest",),
    repair=("warped = warp(moving, flow)",),
)
