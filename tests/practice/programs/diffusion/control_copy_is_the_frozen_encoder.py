"""ControlNet: the trainable copy of the encoder is the encoder itself, which is frozen."""

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
        self.encoder = unet.encoder  # cause
        self.zero = nn.Linear(dim, dim)
        nn.init.zeros_(self.zero.weight)
        nn.init.zeros_(self.zero.bias)

    def forward(self, x, c):
        return self.zero(self.encoder(x + self.hint(c)))


def run():
    torch.manual_seed(0)
    unet = UNet()
    control = ControlNet(unet)
    unet.requires_grad_(False)  # also
    opt = torch.optim.AdamW(control.parameters(), 1e-2)
    for _ in range(3):
        x, c, eps = torch.randn(8, 4), torch.randn(8, 3), torch.randn(8, 4)
        loss = (unet(x + eps, control(x + eps, c)) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return control


def verify(control):
    assert not any(p.requires_grad for p in control.encoder.parameters())


TRUTH = Truth(
    fault="the copy of the encoder is frozen with the original",
    names=("encoder",),
    repair=("import copy\nself.encoder = copy.deepcopy(unet.encoder)",),
)
