"""A codebook that lives in buffers: moved by running means, restarted from the batch where it is dead, never by gradients."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMACodebook(nn.Module):
    def __init__(self, n, dim, decay=0.9, eps=1e-5):
        super().__init__()
        self.decay, self.eps, self.n = decay, eps, n
        embed = torch.randn(dim, n)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed + self.embed.pow(2).sum(0, keepdim=True)
        ind = (-dist).max(1)[1]
        onehot = F.one_hot(ind, self.n).type(flat.dtype)
        quantize = F.embedding(ind, self.embed.transpose(0, 1)).view_as(x)
        if self.training:
            count, total = onehot.sum(0), flat.detach().transpose(0, 1) @ onehot
            self.cluster_size.data.mul_(self.decay).add_(count, alpha=1 - self.decay)
            self.embed_avg.data.mul_(self.decay).add_(total, alpha=1 - self.decay)
            n = self.cluster_size.sum()
            size = (self.cluster_size + self.eps) / (n + self.n * self.eps) * n
            self.embed.data.copy_(self.embed_avg / size.unsqueeze(0))
            self.restart(flat)
        diff = (quantize.detach() - x).pow(2).mean()
        return x + (quantize - x).detach(), diff, ind

    @torch.no_grad()
    def restart(self, flat):
        dead = self.cluster_size < 0.02
        if dead.any():
            pick = flat[torch.randint(len(flat), (int(dead.sum()),))].t()
            self.embed[:, dead] = pick
            self.embed_avg[:, dead] = pick
            self.cluster_size[dead] = 1.0


def run():
    torch.manual_seed(0)
    enc, dec, book = nn.Linear(6, 4), nn.Linear(4, 6), EMACodebook(8, 4)
    start = book.embed.clone()
    optimizer = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
    losses = []
    for _ in range(4):
        x = torch.randn(16, 6)
        z, diff, ind = book(enc(x))
        loss = F.mse_loss(dec(z), x) + 0.25 * diff
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    book.eval()
    with torch.no_grad():
        recon = dec(book(enc(x))[0])
    return enc, dec, book, start, losses, recon


TRUTH = Truth()


def verify(out):
    enc, dec, book, start, losses, recon = out
    assert not list(book.parameters()) and not torch.equal(start, book.embed) and not book.embed.requires_grad
    assert all(p.grad.abs().sum() > 0 for m in (enc, dec) for p in m.parameters())
    assert all(0 < loss < 100 for loss in losses) and not recon.requires_grad
