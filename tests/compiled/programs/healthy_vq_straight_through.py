"""A VQ-VAE whose bottleneck is one compiled graph: straight-through codes, a codebook that follows its members."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Quantizer(nn.Module):
    def __init__(self, codes=5, width=4):
        super().__init__()
        self.register_buffer("codebook", torch.randn(codes, width))
        self.register_buffer("sizes", torch.ones(codes))

    def forward(self, z):
        index = torch.cdist(z.detach(), self.codebook).argmin(1)
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(index, len(self.codebook)).type_as(z)
                self.sizes.mul_(0.9).add_(hot.sum(0), alpha=0.1)
                self.codebook.add_(0.1 * (hot.T @ z - hot.sum(0)[:, None] * self.codebook) / self.sizes[:, None])
        chosen = F.embedding(index, self.codebook)
        return z + (chosen - z).detach(), F.mse_loss(z, chosen.detach())


def setup():
    global encoder, quantize, decoder, optimizer
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    quantize = torch.compile(Quantizer(), backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])


def run():
    for _ in range(3):
        x = torch.randn(7, 6)
        codes, commitment = quantize(encoder(x))
        loss = F.mse_loss(decoder(codes), x) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
