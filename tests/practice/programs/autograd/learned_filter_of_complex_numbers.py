"""Complex parameters, view_as_real in place, magnitude and phase losses; the imaginary part is dropped where it is zero."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SpectralConv(nn.Module):
    """Gains for the low frequencies of a real signal; irfft makes it real again."""

    def __init__(self, length=16, modes=5):
        super().__init__()
        self.length, self.modes = length, modes
        self.gain = nn.Parameter(torch.complex(torch.ones(modes), 0.1 * torch.randn(modes)))

    def forward(self, x):
        spectrum = torch.fft.rfft(x)
        out = torch.zeros_like(spectrum)
        out[:, : self.modes] = spectrum[:, : self.modes] * self.gain
        return torch.fft.irfft(out, n=self.length)


class Denoiser(nn.Module):
    def __init__(self, length=16):
        super().__init__()
        self.conv = SpectralConv(length)
        self.skip = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.conv(x) + self.skip * x


@torch.no_grad()
def limit_gain(model, maximum=2.0):
    """In place on the real view: the optimizer's parameter is what changes."""
    pairs = torch.view_as_real(model.conv.gain)
    size = pairs.norm(dim=-1, keepdim=True)
    pairs.mul_((maximum / size.clamp_min(1e-9)).clamp_max(1.0))


def spectral_loss(a, b):
    fa, fb = torch.fft.rfft(a), torch.fft.rfft(b)
    energy = ((fa - fb) * (fa - fb).conj()).real.mean()
    magnitude = F.l1_loss(fa.abs(), fb.abs())
    return energy + 0.1 * magnitude


def signals(n=12, length=16):
    t = torch.arange(length) * 2 * torch.pi / length
    clean = torch.sin(torch.randint(1, 3, (n, 1)) * t + torch.rand(n, 1) * 6)
    return clean + 0.3 * torch.randn(n, length), torch.roll(clean, 1, -1)


def run():
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    start = model.conv.gain.detach().clone()
    for _ in range(4):
        noisy, target = signals()
        optimizer.zero_grad()
        spectral_loss(model(noisy), target).backward()
        optimizer.step()
        limit_gain(model)
    moved = (model.conv.gain.detach() - start)[1:]
    return moved.real.abs().min().item(), moved.imag.abs().min().item(), model.conv.gain.abs().max().item()


def verify(outcome):
    real, imaginary, largest = outcome
    assert real > 1e-4 and imaginary > 1e-4
    assert largest <= 2.0 + 1e-5


TRUTH = Truth()
