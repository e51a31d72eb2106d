"""VQ-VAE whose codebook follows the encoder by moving averages."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EMAQuantizer(nn.Module):
    def __init__(self, codes=8, dim=4, decay=0.9, beta=0.25):
        super().__init__()
        self.decay, self.beta = decay, beta
        embed = torch.randn(codes, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", embed.clone())

    @torch.no_grad()
    def update(self, z, one_hot):
        self.count.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(one_hot.t() @ z, alpha=1 - self.decay)
        n = self.count.sum()
        size = (self.count + 1e-5) / (n + len(self.count) * 1e-5) * n
        self.embed.copy_(self.total / size.unsqueeze(1))

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.embed).argmin(-1)
        q = F.embedding(idx, self.embed)
        if self.training:
            self.update(z, F.one_hot(idx, len(self.embed)).type_as(z))
        commit = self.beta * F.mse_loss(z, q)
        return z + (q - z).detach(), commit


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
        self.quantizer = EMAQuantizer()
        self.decoder = nn.Linear(4, 6)

    def forward(self, x):
        q, commit = self.quantizer(self.encoder(x))
        return F.mse_loss(self.decoder(q), x) + commit


def run():
    torch.manual_seed(0)
    model = Model()
    codes = model.quantizer.embed.clone()
    weights = model.encoder[0].weight.detach().clone()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(5):
        loss = model(torch.randn(24, 6))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    return model, codes, weights


TRUTH = Truth()


def verify(out):
    model, codes, weights = out
    assert not torch.equal(model.quantizer.embed, codes)
    assert not torch.equal(model.encoder[0].weight, weights)
    assert not model.quantizer.embed.requires_grad
