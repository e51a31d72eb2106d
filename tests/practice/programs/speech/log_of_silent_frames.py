"""A vocoder's spectral loss takes the logarithm of spectra whose padded frames are exactly 0."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Vocoder(nn.Module):
    def __init__(self, mels=10, hop=16):
        super().__init__()
        self.pre = nn.Conv1d(mels, 24, 3, padding=1)
        self.up = nn.ConvTranspose1d(24, 8, hop, stride=hop)
        self.post = nn.Conv1d(8, 1, 5, padding=2)

    def forward(self, mel):
        h = F.leaky_relu(self.pre(mel), 0.1)
        return torch.tanh(self.post(F.leaky_relu(self.up(h), 0.1))).squeeze(1)


def spectrum(wave, n_fft, window):
    spec = torch.stft(wave, n_fft, n_fft // 4, window=window, return_complex=True)
    return spec.real.pow(2) + spec.imag.pow(2)


def stft_loss(fake, real, sizes=(32, 64)):
    total = 0.0
    for size in sizes:
        window = torch.hann_window(size)
        a, b = spectrum(fake, size, window), spectrum(real, size, window)
        total = total + F.l1_loss(torch.log(a), torch.log(b))  # cause
    return total / len(sizes)


def run():
    torch.manual_seed(0)
    model = Vocoder()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.8, 0.99))
    lengths = torch.tensor([512, 320, 192])
    mask = (torch.arange(512) < lengths[:, None]).float()
    for _ in range(2):
        mel, wave = torch.randn(3, 10, 32), torch.randn(3, 512) * 0.1
        opt.zero_grad()
        loss = stft_loss(model(mel) * mask, wave * mask)
        loss.backward()
        opt.step()
    return loss, model.pre.weight


def verify(out):
    assert all(value.isnan().any() for value in out)


TRUTH = Truth(
    fault="log(0) in the frames that the mask empties",
    values=True,
    names=("log",),
    repair=("total = total + F.l1_loss(torch.log(a.clamp_min(1e-5)), torch.log(b.clamp_min(1e-5)))",),
)
