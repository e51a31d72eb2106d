"""ControlNet: a copy of the encoder learns, the original is frozen, and a zero layer starts between them."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class UNet(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.decoder = nn.Linear(dim, 4)

    def forward(self, x, residual=0.0):
        return self.decoder(self.encoder(x) + residual)


class ControlNet(nn.Module):
    def __init__(self, unet, dim=12):
        super().__init__()
        self.hint = nn.Linear(3, 4)
        self.encoder = copy.deepcopy(unet.encoder)
        self.zero = nn.Linear(dim, dim)
        nn.init.zeros_(self.zero.weight)
        nn.init.zeros_(self.zero.bias)

    def forward(self, x, c):
        return self.zero(self.encoder(x + self.hint(c)))


def run():
    torch.manual_seed(0)
    unet = UNet()
    control = ControlNet(unet)
    unet.requires_grad_(False)
    opt = torch.optim.AdamW(control.parameters(), 1e-2)
    for _ in range(4):
        x, c, eps = torch.randn(8, 4), torch.randn(8, 3), torch.randn(8, 4)
        loss = (unet(x + eps, control(x + eps, c)) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return control


TRUTH = Truth()
