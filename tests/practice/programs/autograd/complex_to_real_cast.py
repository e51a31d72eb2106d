"""Spectral filter: the complex output is cast to float32, half of the inverse transform and its gradient fall away."""

import math
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SpectralMix(nn.Module):
    """A learned complex gain per frequency, then the magnitude."""

    def __init__(self, length=16):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(length, dtype=torch.cfloat))
        self.phase = nn.Parameter(torch.zeros(length))

    def forward(self, x):
        spectrum = torch.fft.fft(x, norm="ortho")
        turned = spectrum * self.gain * torch.exp(1j * self.phase)
        return turned.to(torch.float32)  # cause


class Detector(nn.Module):
    def __init__(self, length=16):
        super().__init__()
        self.mix = SpectralMix(length)
        self.fc = nn.Linear(length, 2)

    def forward(self, x):
        return self.fc(torch.log1p(self.mix(x) ** 2))


def tones(n=32, length=16):
    t = torch.arange(length) / length
    label = torch.randint(0, 2, (n,))
    offset = torch.rand(n, 1) * 2 * math.pi
    clean = torch.sin(2 * math.pi * (2 + 3 * label[:, None]) * t + offset)
    return clean + 0.1 * torch.randn(n, length), label


def run():
    torch.manual_seed(0)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    shift = []
    for _ in range(3):
        x, y = tones()
        optimizer.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            F.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rolled = torch.roll(x, 3, dims=-1)  # a power spectrum does not see shifts
            shift.append((model(x) - model(rolled)).abs().max().item())
    return shift


def verify(outcome):
    assert min(outcome) > 0.05


TRUTH = Truth(
    fault="casting complex to float32 drops the imaginary part instead of taking the magnitude",
    names=("mix",),
    repair=("return turned.abs()",),
)
