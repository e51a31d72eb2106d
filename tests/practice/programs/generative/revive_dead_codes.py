"""Generative: dead codes of a VQ-VAE are to be re-seeded, but copy_ goes into what an index by a mask returned."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CODES, DIM = 16, 6


class Quantizer(nn.Module):
    """Nearest-code lookup with a straight-through gradient and restarts of unused codes."""

    def __init__(self, codes=CODES, dim=DIM, beta=0.25, patience=2):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        nn.init.normal_(self.codebook.weight, std=1.0)
        self.codebook.weight.data[codes // 2 :] += 50.0  # far from every input
        self.beta, self.patience = beta, patience
        self.register_buffer("idle", torch.zeros(codes, dtype=torch.long))
        self.restarts = 0

    def forward(self, z):
        index = torch.cdist(z, self.codebook.weight).argmin(-1)
        q = self.codebook(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        if self.training:
            self.count(index)
        return z + (q - z).detach(), loss, index

    @torch.no_grad()
    def count(self, index):
        used = torch.bincount(index, minlength=len(self.idle)) > 0
        self.idle += 1
        self.idle[used] = 0

    @torch.no_grad()
    def restart(self, z):
        """Move the codes nobody has chosen for a while onto encoder outputs."""
        dead = self.idle >= self.patience
        n = int(dead.sum())
        if n == 0:
            return
        picks = z[torch.randint(0, len(z), (n,))]
        self.codebook.weight[dead].copy_(picks)  # cause
        self.idle[dead] = 0
        self.restarts += n


class VQVAE(nn.Module):
    def __init__(self, inp=10):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inp, 24), nn.ReLU(), nn.Linear(24, DIM))
        self.quantizer = Quantizer()
        self.decoder = nn.Sequential(nn.Linear(DIM, 24), nn.ReLU(), nn.Linear(24, inp))

    def forward(self, x):
        z = self.encoder(x)
        q, vq_loss, _ = self.quantizer(z)
        return self.decoder(q), vq_loss, z


def run():
    torch.manual_seed(0)
    model = VQVAE()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    far = model.quantizer.codebook.weight.detach()[CODES // 2 :].clone()
    for _ in range(4):
        x = torch.randn(32, 10)
        recon, vq_loss, z = model(x)
        loss = F.mse_loss(recon, x) + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.quantizer.restart(z.detach())
    return far, model.quantizer.codebook.weight.detach()[CODES // 2 :], model.quantizer.restarts


def verify(outcome):
    before, after, restarts = outcome
    assert restarts >= CODES // 2
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="weight[dead] is a copy: copy_ into it leaves the codebook unchanged",
    names=("codebook",),
    repair=("self.codebook.weight[dead] = picks",),
)
