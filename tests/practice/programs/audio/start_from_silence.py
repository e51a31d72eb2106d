"""Audio: the last layer is to start at zero, but under weight normalisation `weight` is only computed, so nothing is set."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class ResidualUnit(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv1 = weight_norm(nn.Conv1d(channels, channels, 3, dilation=dilation, padding=dilation))
        self.conv2 = weight_norm(nn.Conv1d(channels, channels, 1))

    def forward(self, x):
        return x + self.conv2(F.leaky_relu(self.conv1(F.leaky_relu(x, 0.1)), 0.1))


class Enhancer(nn.Module):
    """Predicts a correction to the noisy wave; an untrained model must return the wave unchanged."""

    def __init__(self, channels=8):
        super().__init__()
        self.inp = weight_norm(nn.Conv1d(1, channels, 7, padding=3))
        self.units = nn.Sequential(*[ResidualUnit(channels, 3**i) for i in range(2)])
        self.out = weight_norm(nn.Conv1d(channels, 1, 7, padding=3))
        self.reset_parameters()

    def reset_parameters(self):
        for m in self.modules():
            if isinstance(m, nn.Conv1d):
                nn.init.zeros_(m.bias)
        nn.init.zeros_(self.out.weight)  # cause

    def forward(self, wave):
        return wave + self.out(self.units(self.inp(wave)))


def noisy_speech(n=4, samples=64):
    t = torch.linspace(0, 1, samples)
    clean = torch.sin(2 * torch.pi * (3 + 5 * torch.rand(n, 1)) * t).unsqueeze(1)
    return clean + 0.1 * torch.randn_like(clean), clean


def run():
    torch.manual_seed(0)
    model = Enhancer()
    with torch.no_grad():
        wave, _ = noisy_speech()
        change = (model(wave) - wave).abs().max().item()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.8, 0.99))
    for _ in range(3):
        wave, clean = noisy_speech()
        loss = F.l1_loss(model(wave), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return change, loss.item()


def verify(outcome):
    change, loss = outcome
    assert change > 1e-3
    assert loss == loss


TRUTH = Truth(
    fault="`weight` of a parametrised layer is made anew at each access: zeros_ fills a tensor nobody keeps",
    names=("out", "weight"),
    repair=("nn.init.zeros_(self.out.parametrizations.weight.original0)",),
)
