"""The learned log-SNR is read with `.item()` when the loss is weighted: the schedule never learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    eps = nn.Linear(5, 4)
    gamma = nn.Parameter(torch.tensor([-3.0, 3.0]))
    opt = torch.optim.Adam([*eps.parameters(), gamma], 1e-2)
    before = gamma.detach().clone()
    for _ in range(2):
        x, noise, t = torch.randn(8, 4), torch.randn(8, 4), torch.rand(8, 1)
        low, high = gamma.tolist()  # cause
        snr = torch.sigmoid(-(low + (high - low) * t))
        noisy = snr.sqrt() * x + (1 - snr).sqrt() * noise
        loss = (eps(torch.cat([noisy, t], 1)) - noise).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, gamma)


def verify(out):
    assert out


TRUTH = Truth(fault="the noise schedule gets no gradient", names=("gamma",), repair=("low, high = gamma",))
