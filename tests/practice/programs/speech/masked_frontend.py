"""Keyword spotting with a learned filterbank and time masking."""

import random

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LearnedFilterbank(nn.Module):
    def __init__(self, filters=10, window=16, hop=8):
        super().__init__()
        self.conv = nn.Conv1d(1, filters, window, stride=hop, bias=False)
        self.gain = nn.Parameter(torch.ones(filters, 1))

    def forward(self, wav):
        energy = self.conv(wav.unsqueeze(1)).pow(2)
        return torch.tanh(self.gain * energy)


class TimeMask(nn.Module):
    def __init__(self, max_width=4, num_masks=2):
        super().__init__()
        self.max_width, self.num_masks = max_width, num_masks

    def forward(self, spec):
        if not self.training:
            return spec
        for _ in range(self.num_masks):
            width = random.randint(1, self.max_width)
            start = random.randint(0, spec.size(-1) - width)
            spec[..., start : start + width] = 0.0  # cause
        return spec


class KeywordNet(nn.Module):
    def __init__(self, words=5):
        super().__init__()
        self.frontend = LearnedFilterbank()
        self.augment = TimeMask()
        self.encoder = nn.Conv1d(10, 16, 3, padding=1)
        self.classifier = nn.Linear(16, words)

    def forward(self, wav):
        spec = self.augment(self.frontend(wav))
        return self.classifier(F.relu(self.encoder(spec)).mean(-1))


def run():
    torch.manual_seed(0)
    random.seed(0)
    net = KeywordNet().train()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        wav, y = torch.randn(6, 160), torch.randint(0, 5, (6,))
        loss = F.cross_entropy(net(wav), y)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="masking writes into the output of tanh, which its backward needs",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("spec",),
    repair=("spec = spec.clone()\nspec[..., start:start + width] = 0.0",),
)


def well(out):
    assert len(out) == 3
