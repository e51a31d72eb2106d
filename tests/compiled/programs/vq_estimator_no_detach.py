"""A compiled VQ tokenizer: the straight-through estimator is written without its detach."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Tokenizer(nn.Module):
    def __init__(self, codes=16, width=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 16), nn.GELU(), nn.Linear(16, width))
        self.decoder = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, 10))
        self.codebook = nn.Embedding(codes, width)

    def quantize(self, z):
        index = torch.cdist(z, self.codebook.weight).argmin(-1)
        q = self.codebook(index)
        pull = F.mse_loss(q, z.detach())
        return z + (q - z), pull, index  # cause

    def forward(self, x):
        z = self.encoder(x)
        q, pull, index = self.quantize(z)
        return self.decoder(q), pull, index


def run():
    torch.manual_seed(0)
    model = Tokenizer()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sizes = []
    for _ in range(3):
        frames = torch.randn(12, 10)
        restored, pull, _ = forward(frames)
        loss = F.mse_loss(restored, frames) + pull
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        sizes.append((model.encoder[0].weight.grad.abs().max().item(), model.decoder[0].weight.grad.abs().max().item()))
        optimizer.step()
    return sizes


def verify(outcome):
    # the decoder learns, the encoder does not
    assert all(encoder < 1e-6 < decoder for encoder, decoder in outcome)


TRUTH = Truth(
    fault="z + (q - z) cancels the gradient of z: the encoder gets nothing from the reconstruction",
    names=("encoder",),
    repair=("return z + (q - z).detach(), pull, index",),
)
