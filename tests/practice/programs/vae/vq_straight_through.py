"""VQ-VAE: codes are picked by an argmin, the decoder's gradient goes straight to the encoder, unused codes get none."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VectorQuantizer(nn.Module):
    def __init__(self, n, dim, beta=0.25):
        super().__init__()
        self.beta = beta
        self.embedding = nn.Embedding(n, dim)
        self.embedding.weight.data.uniform_(-1.0 / n, 1.0 / n)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).contiguous()
        zf = flat.view(-1, flat.shape[-1])
        d = zf.pow(2).sum(1, keepdim=True) + self.embedding.weight.pow(2).sum(1) - 2 * zf @ self.embedding.weight.t()
        idx = d.argmin(1)
        z_q = self.embedding(idx).view(flat.shape)
        loss = self.beta * F.mse_loss(z_q.detach(), flat) + F.mse_loss(z_q, flat.detach())
        z_q = flat + (z_q - flat).detach()
        probs = F.one_hot(idx, self.embedding.num_embeddings).float().mean(0)
        perplexity = torch.exp(-torch.sum(probs * torch.log(probs + 1e-10)))
        return z_q.permute(0, 3, 1, 2).contiguous(), loss, perplexity, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 1))
        self.vq = VectorQuantizer(32, 4)
        self.dec = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1))

    def forward(self, x):
        z, loss, perplexity, idx = self.vq(self.enc(x))
        return self.dec(z), loss, perplexity, idx


def run():
    torch.manual_seed(0)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    used, log = set(), []
    for _ in range(3):
        x = torch.rand(4, 1, 8, 8)
        x_hat, vq_loss, perplexity, idx = model(x)
        recon = F.mse_loss(x_hat, x) / x.var().item()
        loss = recon + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        used |= set(idx.tolist())
        log.append((recon.item(), vq_loss.item(), perplexity.item()))
    return model, used, log


TRUTH = Truth()


def verify(out):
    model, used, log = out
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert 0 < len(used) < 32 and all(p >= 1 for *_, p in log)
