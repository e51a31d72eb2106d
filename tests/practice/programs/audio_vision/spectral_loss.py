"""The modulus of a spectrum and its real part are real: nothing that learns is dropped."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(16, 16)
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(2):
        x = torch.randn(4, 16)
        a, b = torch.fft.rfft(net(x)), torch.fft.rfft(x)
        loss = (a.abs() - b.abs()).pow(2).mean() + torch.fft.irfft(a * b).pow(2).mean() + a.real.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
