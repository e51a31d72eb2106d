"""Discrete VAE (as in DALL-E): the Gumbel sample is turned into indices, the reconstruction cannot reach the encoder."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class DiscreteVAE(nn.Module):
    def __init__(self, tokens=24, dim=12, channels=1, straight_through=True):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(channels, 16, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, tokens, 4, stride=2, padding=1)
        )
        self.codebook = nn.Embedding(tokens, dim)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(dim, 16, 4, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(16, channels, 4, 2, 1)
        )
        self.tokens, self.straight_through = tokens, straight_through

    def embed(self, logits, temperature):
        soft = F.gumbel_softmax(logits, tau=temperature, hard=self.straight_through, dim=1)
        codes = self.codebook(soft.argmax(dim=1))  # cause
        return codes.permute(0, 3, 1, 2)

    def forward(self, img, temperature=1.0):
        logits = self.encoder(img)
        recon = self.decoder(self.embed(logits, temperature))
        return recon, logits


def kl_to_uniform(logits):
    logq = F.log_softmax(logits.flatten(2), dim=1)
    return (logq.exp() * (logq + torch.log(torch.tensor(float(logits.size(1)))))).sum(1).mean()


def temperature_at(step, start=1.0, end=0.5, rate=0.1):
    return max(end, start * (1 - rate * step))


def blobs(n, size=16):
    grid = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    centre = torch.rand(n, 2, 1, 1) - 0.5
    return torch.exp(-((xx - centre[:, 0]) ** 2 + (yy - centre[:, 1]) ** 2) / 0.1).unsqueeze(1)


def run():
    torch.manual_seed(0)
    model = DiscreteVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    for step in range(3):
        img = blobs(4)
        recon, logits = model(img, temperature_at(step))
        loss = F.smooth_l1_loss(recon, img) + 1e-3 * kl_to_uniform(logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()

    recon, logits = model(blobs(4))
    (through,) = torch.autograd.grad(F.smooth_l1_loss(recon, blobs(4)), logits, allow_unused=True)
    return through


def verify(gradient_of_logits):
    assert gradient_of_logits is None


TRUTH = Truth(
    fault="argmax cuts the graph between the Gumbel sample and the codebook; only the KL term trains the encoder",
    names=("argmax", "encoder"),
    repair=("codes = torch.einsum('bkhw,kd->bhwd', soft, self.codebook.weight)",),
)
