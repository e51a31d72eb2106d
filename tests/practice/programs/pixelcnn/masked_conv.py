"""PixelCNN: the mask buffer is the weight itself."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MaskedConv2d(nn.Conv2d):
    """Type A hides the pixel itself, type B does not."""

    def __init__(self, mask_type, *args, **kwargs):
        super().__init__(*args, **kwargs)
        assert mask_type in {"A", "B"}
        self.register_buffer("mask", self.weight.data)  # cause
        _, _, kh, kw = self.weight.size()
        self.mask.fill_(1)
        self.mask[:, :, kh // 2, kw // 2 + (mask_type == "B") :] = 0
        self.mask[:, :, kh // 2 + 1 :] = 0

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


class ResidualBlock(nn.Module):
    def __init__(self, fm):
        super().__init__()
        self.net = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(fm, fm // 2, 1),
            nn.ReLU(),
            MaskedConv2d("B", fm // 2, fm // 2, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.Conv2d(fm // 2, fm, 1),
        )

    def forward(self, x):
        return x + self.net(x)


class PixelCNN(nn.Module):
    def __init__(self, levels=4, fm=8):
        super().__init__()
        self.stem = MaskedConv2d("A", 1, fm, 5, padding=2, bias=False)
        self.blocks = nn.Sequential(ResidualBlock(fm), ResidualBlock(fm))
        self.head = nn.Conv2d(fm, levels, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def quantise(images, levels):
    return (images * (levels - 1)).round().long()


def run():
    torch.manual_seed(0)
    net = PixelCNN()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        images = torch.rand(4, 1, 6, 6)
        target = quantise(images, 4).squeeze(1)
        loss = F.cross_entropy(net(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    # every mask must hold zeros and ones alone
    masks = [m.mask for m in net.modules() if isinstance(m, MaskedConv2d)]
    return [bool(((m == 0) | (m == 1)).all()) for m in masks]


def verify(outcome):
    assert not any(outcome), outcome


TRUTH = Truth(
    fault="the mask shares the weight's memory: filling it overwrites the weights, each forward squares them",
    names=("mask",),
    repair=('self.register_buffer("mask", self.weight.data.clone())',),
)
