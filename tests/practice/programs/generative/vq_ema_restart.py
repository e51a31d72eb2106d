"""Generative: a VQ-VAE whose codebook is a buffer moved by averages and restarts in place, beside a patch discriminator; healthy."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EMACodebook(nn.Module):
    def __init__(self, n_codes=12, dim=6, decay=0.8):
        super().__init__()
        self.register_buffer("embeddings", torch.randn(n_codes, dim))
        self.register_buffer("N", torch.zeros(n_codes))
        self.register_buffer("z_avg", self.embeddings.data.clone())
        self.decay, self._need_init = decay, True

    def _tile(self, x, n):
        if x.size(0) < n:
            x = x.repeat((n + x.size(0) - 1) // x.size(0), 1)
            x = x + torch.randn_like(x) * 0.01
        return x[torch.randperm(x.size(0))][:n]

    def _init_embeddings(self, flat):
        self._need_init = False
        y = self._tile(flat, len(self.N))
        self.embeddings.data.copy_(y)
        self.z_avg.data.copy_(y)
        self.N.data.copy_(torch.ones_like(self.N))

    @torch.no_grad()
    def _update(self, flat, indices):
        onehot = F.one_hot(indices, len(self.N)).type_as(flat)
        self.N.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.z_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        n = self.N.sum()
        weights = (self.N + 1e-7) / (n + len(self.N) * 1e-7) * n
        self.embeddings.data.copy_(self.z_avg / weights.unsqueeze(1))
        usage = (self.N.view(-1, 1) >= 0.5).float()
        self.embeddings.data.mul_(usage).add_(self._tile(flat, len(self.N)) * (1 - usage))

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).flatten(end_dim=-2)
        if self._need_init and self.training:
            self._init_embeddings(flat.detach())
        distances = torch.cdist(flat.detach(), self.embeddings)
        indices = distances.argmin(1)
        embed = F.embedding(indices.view(z.size(0), *z.shape[2:]), self.embeddings).permute(0, 3, 1, 2)
        commitment = 0.25 * F.mse_loss(z, embed.detach())
        if self.training:
            self._update(flat.detach(), indices)
        return (embed - z).detach() + z, commitment


class VQGAN(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.SiLU(), nn.Conv2d(8, dim, 1))
        self.codebook = EMACodebook(dim=dim)
        self.decoder = nn.Sequential(nn.Conv2d(dim, 8, 3, padding=1), nn.SiLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1))

    def forward(self, x):
        z, commitment = self.codebook(self.encoder(x))
        return self.decoder(z), commitment


def adaptive_weight(recon_loss, g_loss, last_layer):
    recon_grad = torch.autograd.grad(recon_loss, last_layer, retain_graph=True)[0]
    g_grad = torch.autograd.grad(g_loss, last_layer, retain_graph=True)[0]
    return (recon_grad.norm() / (g_grad.norm() + 1e-4)).clamp(0, 1e2).detach()


def run():
    torch.manual_seed(0)
    model, disc = VQGAN(), nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(8, 1, 3, padding=1))
    opt_g = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.9))
    before = {n: t.detach().clone() for m in (model, disc) for n, t in m.state_dict().items()}
    for step in range(4):
        x = torch.randn(6, 1, 8, 8)
        recon, commitment = model(x)
        rec = (x - recon).abs().mean()
        disc.requires_grad_(False)
        g_loss = -disc(recon).mean()
        weight = adaptive_weight(rec, g_loss, model.decoder[-1].weight)
        opt_g.zero_grad()
        (rec + commitment + (0.1 if step > 0 else 0.0) * weight * g_loss).backward()
        opt_g.step()
        disc.requires_grad_(True)
        d_loss = 0.5 * (F.relu(1 - disc(x)).mean() + F.relu(1 + disc(recon.detach())).mean())
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
    return before, {n: t.detach().clone() for m in (model, disc) for n, t in m.state_dict().items()}


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(before[n], after[n]) for n in before if n != "2.bias")  # hinge: both halves cancel there
    assert all(torch.isfinite(t).all() for t in after.values())


TRUTH = Truth()
