"""A VQ autoencoder: straight-through, commitment, codes that nobody uses are put on encoder outputs."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Quantiser(nn.Module):
    def __init__(self, codes=12, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        self.codebook.weight.data.uniform_(-1 / codes, 1 / codes)
        self.register_buffer("usage", torch.zeros(codes))
        self.beta = beta

    def forward(self, z):
        d = z.pow(2).sum(1, keepdim=True) + self.codebook.weight.pow(2).sum(1) - 2 * z @ self.codebook.weight.t()
        ids = d.argmin(1)
        q = self.codebook(ids)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        if self.training:
            with torch.no_grad():
                self.usage.mul_(0.5).add_(torch.bincount(ids, minlength=len(self.usage)).float(), alpha=0.5)
        return z + (q - z).detach(), loss, ids

    @torch.no_grad()
    def restart(self, z):
        dead = self.usage < 0.1
        pick = torch.randint(len(z), (int(dead.sum()),))
        self.codebook.weight[dead] = z[pick]


def run():
    torch.manual_seed(0)
    enc, dec, vq = nn.Linear(6, 4), nn.Linear(4, 6), Quantiser()
    params = [p for m in (enc, dec, vq) for p in m.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-3)
    for step in range(4):
        x = torch.randn(16, 6)
        z = enc(x)
        q, vq_loss, ids = vq(z)
        loss = F.l1_loss(dec(q), x) + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2:
            vq.restart(z.detach())
    hist = torch.bincount(ids, minlength=12).float()
    return (-(hist / hist.sum()) * (hist / hist.sum() + 1e-10).log()).sum().exp().item()


TRUTH = Truth()
