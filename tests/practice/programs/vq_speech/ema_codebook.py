"""Speech tokens: VQ-VAE with a codebook of buffers changed in place, straight-through detach and dead codes restarted. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMAQuantizer(nn.Module):
    def __init__(self, codes, dim, decay=0.8):
        super().__init__()
        self.decay = decay
        self.register_buffer("codebook", torch.randn(codes, dim))
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", self.codebook.clone())

    @torch.no_grad()
    def learn(self, z, index):
        hot = F.one_hot(index, len(self.count)).float()
        self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
        self.codebook.copy_(self.total / self.count.clamp_min(1e-3)[:, None])
        dead = self.count < 0.05
        self.codebook[dead] = z[torch.randint(len(z), (int(dead.sum()),))]

    def forward(self, z):
        index = torch.cdist(z.detach(), self.codebook).argmin(1)
        quantized = self.codebook[index]
        if self.training:
            self.learn(z.detach(), index)
        commitment = F.mse_loss(z, quantized.detach())
        return z + (quantized - z).detach(), commitment, index


class SpeechCodec(nn.Module):
    def __init__(self, frame=12, dim=4, codes=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(frame, 16), nn.GELU(), nn.Linear(16, dim))
        self.quantize = EMAQuantizer(codes, dim)
        self.decode = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, frame))

    def forward(self, x):
        z, commitment, index = self.quantize(self.encode(x))
        return self.decode(z), commitment, index


def frames(n):
    t = torch.arange(12) / 12
    return torch.sin(2 * torch.pi * (torch.randint(1, 4, (n, 1)) * t + torch.rand(n, 1)))


def run():
    torch.manual_seed(0)
    model = SpeechCodec()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = frames(48)
    start, book = [p.detach().clone() for p in model.parameters()], model.quantize.codebook.clone()
    losses = []
    for _ in range(4):
        rebuilt, commitment, _ = model(x)
        loss = F.mse_loss(rebuilt, x) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(F.mse_loss(rebuilt, x).item())
    return start, list(model.parameters()), book, model.quantize.codebook, losses


def verify(outcome):
    start, now, book, codebook, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert not torch.equal(book, codebook)
    assert losses[-1] < losses[0]


TRUTH = Truth()
