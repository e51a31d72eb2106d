"""Neural operators: the spectral weights lose their imaginary part on the way to the product."""

import warnings
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class FNOConfig:
    modes: int = 6
    width: int = 12
    n_layers: int = 2
    resolution: int = 32
    ntrain: int = 16
    batch_size: int = 8
    learning_rate: float = 5e-3
    fp16_ready: bool = True


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1, fp16_ready):
        super().__init__()
        self.modes1, self.out_channels, self.fp16_ready = modes1, out_channels, fp16_ready
        scale = 1 / (in_channels * out_channels)
        self.weights1 = nn.Parameter(scale * torch.rand(in_channels, out_channels, modes1, dtype=torch.cfloat))

    def compl_mul1d(self, inp, weights):
        return torch.einsum("bix,iox->box", inp, weights)

    def forward(self, x):
        weights = self.weights1
        if self.fp16_ready:  # autocast has no complex half: leave it here, in single precision
            weights = weights.to(torch.float32).to(torch.cfloat)  # cause
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros(len(x), self.out_channels, x.size(-1) // 2 + 1, dtype=torch.cfloat)
        out_ft[:, :, : self.modes1] = self.compl_mul1d(x_ft[:, :, : self.modes1], weights)
        return torch.fft.irfft(out_ft, n=x.size(-1))


class FNO1d(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc0 = nn.Linear(2, cfg.width)
        conv = [SpectralConv1d(cfg.width, cfg.width, cfg.modes, cfg.fp16_ready) for _ in range(cfg.n_layers)]
        self.convs = nn.ModuleList(conv)
        self.ws = nn.ModuleList(nn.Conv1d(cfg.width, cfg.width, 1) for _ in range(cfg.n_layers))
        self.fc1, self.fc2 = nn.Linear(cfg.width, 24), nn.Linear(24, 1)

    def get_grid(self, x):
        return torch.linspace(0, 1, x.size(1)).view(1, -1, 1).expand(len(x), -1, -1)

    def forward(self, x):
        x = self.fc0(torch.cat([x, self.get_grid(x)], dim=-1)).permute(0, 2, 1)
        for i, (conv, w) in enumerate(zip(self.convs, self.ws)):
            x = conv(x) + w(x)
            if i < len(self.convs) - 1:
                x = F.gelu(x)
        return self.fc2(F.gelu(self.fc1(x.permute(0, 2, 1))))


class LpLoss:
    def __call__(self, x, y):
        diff = (x.flatten(1) - y.flatten(1)).norm(dim=1)
        return (diff / y.flatten(1).norm(dim=1)).sum()


class UnitGaussianNormalizer:
    def __init__(self, x, eps=1e-5):
        self.mean, self.std, self.eps = x.mean(0), x.std(0), eps

    def encode(self, x):
        return (x - self.mean) / (self.std + self.eps)

    def decode(self, x):
        return x * (self.std + self.eps) + self.mean


def burgers_like(cfg):
    grid = torch.linspace(0, 2 * torch.pi, cfg.resolution)
    phase = torch.rand(cfg.ntrain, 1) * 6
    a = torch.sin(grid + phase) + 0.3 * torch.cos(2 * grid - phase)
    return a[..., None], torch.roll(a, 4, dims=1)[..., None] * 0.7


def run():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    cfg = FNOConfig()
    model = FNO1d(cfg)
    x, y = burgers_like(cfg)
    xn, yn = UnitGaussianNormalizer(x), UnitGaussianNormalizer(y)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    before = [c.weights1.detach().clone() for c in model.convs]
    for _ in range(2):
        for i in range(0, cfg.ntrain, cfg.batch_size):
            out = model(xn.encode(x[i : i + cfg.batch_size]))
            loss = LpLoss()(yn.decode(out), y[i : i + cfg.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
    return before, [c.weights1.detach() for c in model.convs]


def verify(outcome):
    for b, a in zip(*outcome):
        assert torch.equal(b.imag, a.imag) and not torch.equal(b.real, a.real)


TRUTH = Truth(
    fault="the cast to float32 drops the imaginary part of the complex weights: it is neither used nor trained",
    names=("weights1",),
    repair=("weights = weights.to(torch.cfloat)",),
)
