"""VQ-VAE: the detach is on the wrong side, so the encoder gets no gradient of the reconstruction."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    enc, dec, book = nn.Linear(4, 2), nn.Linear(2, 4), nn.Embedding(8, 2)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *book.parameters()], 1e-2)
    before = enc.weight.detach().clone()
    for _ in range(2):
        x = torch.randn(16, 4)
        z = enc(x)
        q = book(torch.cdist(z, book.weight).argmin(1))
        codebook_loss = (q - z.detach()).pow(2).mean()
        q = q + (z - q).detach()  # cause
        loss = (dec(q) - x).pow(2).mean() + codebook_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, enc.weight)


def verify(out):
    assert out


TRUTH = Truth(fault="the encoder gets no gradient", repair=("q = z + (q - z).detach()",))
