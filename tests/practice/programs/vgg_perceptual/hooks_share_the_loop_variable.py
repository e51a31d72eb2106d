"""Perceptual loss: the hooks are lambdas made in a loop, and all of them store under the name of the last layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TinyVGG(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU()
        )

    def forward(self, x):
        return self.features(x)


class PerceptualLoss(nn.Module):
    """Compare activations of a frozen network at the chosen layers."""

    def __init__(self, vgg, layers=("features.0", "features.3")):
        super().__init__()
        self.vgg = vgg.eval().requires_grad_(False)
        self.taken = {}
        modules = dict(self.vgg.named_modules())
        for name in layers:
            modules[name].register_forward_hook(
                lambda module, args, output: self.taken.__setitem__(name, output)  # cause
            )

    def extract(self, x):
        self.taken.clear()
        self.vgg(x)
        return dict(self.taken)

    def forward(self, x, target):
        with torch.no_grad():
            wanted = self.extract(target)
        got = self.extract(x)
        return sum(F.l1_loss(got[name], wanted[name]) for name in got), sorted(got)


class SRNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.Conv2d(width, width, 3, padding=1)
        self.tail = nn.Sequential(nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        h = self.head(x)
        return self.tail(h + self.body(h.relu())) + F.interpolate(x, scale_factor=2)


def train_step(model, criterion, optimizer, hr):
    lr = F.avg_pool2d(hr, 2)
    sr = model(lr)
    perceptual, layers = criterion(sr, hr)
    loss = F.l1_loss(sr, hr) + 0.1 * perceptual
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return layers


def run():
    torch.manual_seed(0)
    model, criterion = SRNet(), PerceptualLoss(TinyVGG())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return [train_step(model, criterion, optimizer, torch.rand(2, 3, 8, 8)) for _ in range(3)]


def verify(outcome):
    assert all(layers == ["features.3"] for layers in outcome)


TRUTH = Truth(
    fault="the lambdas read `name` when they are called: both write 'features.3', the activation of features.0 never enters the loss",
    names=("features.0",),
    repair=("lambda module, args, output, name=name: self.taken.__setitem__(name, output)",),
)
