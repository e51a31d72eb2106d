"""TensorFlow to PyTorch: tf.stop_gradient of the straight-through estimator moved into quantize(); the codebook loss then sees only the copy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class VectorQuantizer(nn.Module):
    def __init__(self, codes=16, dim=4):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(codes, dim))

    def nearest(self, z):
        return torch.cdist(z.detach(), self.codebook.detach()).argmin(dim=1)

    def forward(self, z):
        codes = self.codebook[self.nearest(z)]
        quantized = z + (codes - z).detach()  # also
        codebook_loss = F.mse_loss(quantized, z.detach())  # cause
        commitment = F.mse_loss(z, codes.detach())
        return quantized, codebook_loss + 0.25 * commitment


class VQVAE(nn.Module):
    def __init__(self, dim=10, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, latent))
        self.vq = VectorQuantizer(dim=latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, x):
        quantized, vq_loss = self.vq(self.encoder(x))
        return self.decoder(quantized), vq_loss


def run():
    torch.manual_seed(0)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = model.vq.codebook.detach().clone()
    for _ in range(4):
        x = torch.randn(12, 10)
        optimizer.zero_grad(set_to_none=True)
        reconstruction, vq_loss = model(x)
        (F.mse_loss(reconstruction, x) + vq_loss).backward()
        optimizer.step()
    return before, model.vq.codebook


def verify(outcome):
    before, codebook = outcome
    assert codebook.grad is None and torch.equal(before, codebook.detach())


TRUTH = Truth(
    fault="the codebook gets no gradient: its loss is computed on the straight-through copy, in which the codes are detached",
    names=("codebook",),
    repair=("codebook_loss = F.mse_loss(codes, z.detach())",),
)
