"""A complex spectrum is cast to float32: the imaginary part, and what it would teach, is dropped."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    gain, phase = nn.Parameter(torch.ones(9)), nn.Parameter(torch.zeros(9))
    opt = torch.optim.Adam([gain, phase], 1e-2)
    before = phase.detach().clone()
    for _ in range(2):
        spectrum = torch.fft.rfft(torch.randn(4, 16))
        filtered = torch.complex(spectrum.real * gain, spectrum.imag + phase)
        feature = filtered.to(torch.float32)  # cause
        loss = feature.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, phase)


def verify(out):
    assert out


TRUTH = Truth(
    fault="the imaginary part gets no gradient",
    names=("phase",),
    values=True,
    repair=("feature = torch.view_as_real(filtered)",),
)
