"""VQ-VAE whose codebook is a buffer kept by exponential averages, with restarts of dead codes: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes=12, dim=6, decay=0.9, eps=1e-5):
        super().__init__()
        self.decay, self.eps, self.n_codes = decay, eps, n_codes
        embed = torch.randn(n_codes, dim) * 0.1
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(n_codes))
        self.register_buffer("embed_avg", embed.clone())

    @torch.no_grad()
    def _update(self, flat, onehot):
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        n = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (n + self.n_codes * self.eps) * n
        self.embed.copy_(self.embed_avg / size.unsqueeze(1))
        dead = self.cluster_size < 0.05
        if dead.any():
            pick = torch.randint(0, flat.size(0), (int(dead.sum()),))
            self.embed[dead] = flat[pick]
            self.embed_avg[dead] = flat[pick]
            self.cluster_size[dead] = 1.0

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        idx = torch.cdist(flat.detach(), self.embed).argmin(-1)
        quantized = F.embedding(idx, self.embed).view_as(z)
        if self.training:
            self._update(flat.detach(), F.one_hot(idx, self.n_codes).float())
        commit = F.mse_loss(z, quantized.detach())
        return z + (quantized - z).detach(), commit


class Model(nn.Module):
    def __init__(self, width=10, dim=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(width, 24), nn.ReLU(inplace=True), nn.Linear(24, dim))
        self.vq = EMAQuantizer(dim=dim)
        self.dec = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(inplace=True), nn.Linear(24, width))

    def forward(self, x):
        q, commit = self.vq(self.enc(x))
        return self.dec(q), commit


def run():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    data = torch.randn(64, 10)
    for step in range(4):
        x = data[step * 16 : (step + 1) * 16]
        recon, commit = model(x)
        loss = F.mse_loss(recon, x) + 0.25 * commit
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        model(data)
    return before, model.state_dict()


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(before[k], after[k]) for k in before)


TRUTH = Truth()
