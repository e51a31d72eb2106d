"""VQ-VAE: the codebook is an Embedding with a padding index, copied from a text model, so its first code never learns."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Codebook(nn.Module):
    def __init__(self, n_codes=4, dim=3):
        super().__init__()
        self.embedding = nn.Embedding(n_codes, dim, padding_idx=0)  # cause
        nn.init.uniform_(self.embedding.weight, -1.0, 1.0)

    def forward(self, z):
        dist = torch.cdist(z.detach(), self.embedding.weight.detach())
        idx = dist.argmin(-1)
        q = self.embedding(idx)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, idx


class SpeechVQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv1d(4, 3, 4, 2, 1)
        self.codebook = Codebook()
        self.decoder = nn.ConvTranspose1d(3, 4, 4, 2, 1)

    def forward(self, wav):
        z = self.encoder(wav).transpose(1, 2)
        q, loss, idx = self.codebook(z)
        return self.decoder(q.transpose(1, 2)), loss, idx


def run():
    torch.manual_seed(0)
    model = SpeechVQ()
    start = model.codebook.embedding.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    counts = torch.zeros(4, dtype=torch.long)
    for step in range(4):
        wav = torch.randn(4, 4, 16)
        recon, vq, idx = model(wav)
        loss = F.l1_loss(recon, wav) + vq
        opt.zero_grad()
        loss.backward()
        opt.step()
        counts += torch.bincount(idx.flatten(), minlength=4)
        print(f"step {step} loss {loss.item():.4f} usage {(counts > 0).float().mean().item():.2f}")
    return model, start, counts


def verify(out):
    model, start, counts = out
    assert counts.min() > 0
    moved = (model.codebook.embedding.weight - start).abs().sum(1) > 0
    assert moved.tolist() == [False, True, True, True]


TRUTH = Truth(
    fault="padding_idx takes the gradient from a code that is in use",
    names=("padding_idx",),
    repair=("self.embedding = nn.Embedding(n_codes, dim)",),
)
