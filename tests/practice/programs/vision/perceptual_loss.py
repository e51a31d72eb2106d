"""Super-resolution net trained with an L1 term and a perceptual term from a fixed feature net."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class FeatureNet(nn.Module):
    """Stands for the first layers of a pretrained network."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, padding=1))

    @torch.no_grad()  # cause
    def forward(self, x):
        return self.body(x)


class PerceptualLoss(nn.Module):
    def __init__(self, net, weight=1.0):
        super().__init__()
        self.net = net.eval()
        for p in self.net.parameters():
            p.requires_grad = False
        self.weight = weight

    def forward(self, sr, hr):
        return self.weight * F.mse_loss(self.net(sr), self.net(hr))  # also


class Upscaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, 12, 3, padding=1)
        self.up = nn.PixelShuffle(2)

    def forward(self, x):
        return self.up(self.head(x))


def run():
    torch.manual_seed(0)
    model, perceptual = Upscaler(), PerceptualLoss(FeatureNet(), weight=0.5)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    log = []
    for _ in range(3):
        hr = torch.rand(2, 3, 16, 16)
        sr = model(F.avg_pool2d(hr, 2))
        pixel, percep = F.l1_loss(sr, hr), perceptual(sr, hr)
        loss = pixel + percep
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append({"l1": pixel.item(), "perceptual": percep.item()})
    return log, percep


TRUTH = Truth(
    fault="the perceptual term is computed without a graph and trains nothing",
    names=("no_grad",),
    repair=("",),
)


def well(out):
    log, percep = out
    assert percep.requires_grad


verify = fails(well)
