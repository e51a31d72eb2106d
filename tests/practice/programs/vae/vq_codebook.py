"""VQ-VAE with a learned codebook."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class VectorQuantizer(nn.Module):
    def __init__(self, num_codes=12, dim=4, commitment_cost=0.25):
        super().__init__()
        self.codebook = nn.Embedding(num_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0, 1.0)
        self.commitment_cost = commitment_cost

    def forward(self, z):
        dist = torch.cdist(z, self.codebook.weight)
        idx = dist.argmin(-1)
        quantized = self.codebook(idx)
        q_latent_loss = F.mse_loss(quantized.detach(), z)  # cause
        e_latent_loss = F.mse_loss(quantized.detach(), z)  # also
        loss = q_latent_loss + self.commitment_cost * e_latent_loss
        quantized = z + (quantized - z).detach()
        return quantized, loss, idx


class VQVAE(nn.Module):
    def __init__(self, x_dim=10, dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, 16), nn.ReLU(), nn.Linear(16, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, x_dim))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.encoder(x))
        recon = self.decoder(q)
        return F.mse_loss(recon, x), vq_loss, idx


def run():
    torch.manual_seed(3)
    model = VQVAE()
    codes = model.vq.codebook.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    usage = torch.zeros(12)
    for _ in range(4):
        recon, vq_loss, idx = model(torch.randn(16, 10))
        opt.zero_grad()
        (recon + vq_loss).backward()
        opt.step()
        usage += torch.bincount(idx, minlength=12)
    return codes, model, usage


TRUTH = Truth(
    fault="both quantizer losses detach the codes, the codebook never learns",
    names=("codebook",),
    repair=("q_latent_loss = F.mse_loss(quantized, z.detach())",),
)


def well(out):
    codes, model, usage = out
    assert (model.vq.codebook.weight - codes).abs().sum(-1)[usage > 0].min() > 0


verify = fails(well)
