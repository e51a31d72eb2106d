"""Keyword spotting: quantisation-aware fine-tuning of a compiled net whose convolutions have four-bit weights."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="each forward writes the quantised weights over the full-precision ones: steps under half a level are lost",
    names=("weight", "quantise", "copy_"),
    values=True,
    repair=("weight = weight + (quantised - weight).detach()",),
)


def quantise(weight, bits=4):
    top = 2 ** (bits - 1) - 1
    scale = weight.detach().abs().amax((1, 2), keepdim=True).clamp(min=1e-8) / top
    return (weight.detach() / scale).round().clamp(-top, top) * scale


class QuantConv(nn.Conv1d):
    def forward(self, x):
        weight = self.weight
        quantised = quantise(weight)
        weight.data.copy_(quantised)  # cause
        return F.conv1d(x, weight, self.bias, padding=self.padding)


class Spotter(nn.Module):
    def __init__(self, mels=6, words=4):
        super().__init__()
        self.first = QuantConv(mels, 8, 3, padding=1)
        self.second = QuantConv(8, 8, 3, padding=1)
        self.words = nn.Linear(8, words)

    def forward(self, mel):
        h = F.relu(self.first(mel))
        return self.words(F.relu(self.second(h)).mean(-1))


def setup():
    torch.manual_seed(0)


def run():
    net = Spotter()
    forward = torch.compile(net, backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.1)
    start = None
    for _ in range(6):
        mel, labels = torch.randn(8, 6, 12), torch.randint(4, (8,))
        loss = F.cross_entropy(forward(mel), labels)
        if start is None:
            start = quantise(net.second.weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    forward(mel)  # symptom
    off_grid = (net.second.weight - quantise(net.second.weight)).abs().max().item()
    return off_grid, (net.second.weight - start).abs().max().item()


def verify(outcome):
    off_grid, moved = outcome
    assert off_grid < 1e-6 and moved < 1e-3
