"""Healthy: VQ layer whose codebook is a buffer that is learned by EMA in place under no_grad, with dead codes re-seeded."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes=6, dim=3, decay=0.8, eps=1e-5):
        super().__init__()
        self.decay, self.eps = decay, eps
        self.register_buffer("codes", torch.randn(n_codes, dim))
        self.register_buffer("count", torch.ones(n_codes))
        self.register_buffer("total", self.codes.clone())

    @torch.no_grad()
    def _update(self, z, one_hot):
        self.count.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(one_hot.t() @ z, alpha=1 - self.decay)
        self.codes.copy_(self.total / (self.count + self.eps).unsqueeze(1))
        dead = self.count < 0.3
        if dead.any():
            fresh = z[torch.randint(0, len(z), (int(dead.sum()),))]
            self.codes[dead] = fresh
            self.total[dead] = fresh
            self.count[dead] = 1.0

    def forward(self, z):
        idx = (z.detach().unsqueeze(1) - self.codes).pow(2).sum(-1).argmin(1)
        q = self.codes[idx]
        commit = F.mse_loss(z, q)
        out = z + (q - z).detach()
        if self.training:
            self._update(z.detach(), F.one_hot(idx, len(self.codes)).to(z.dtype))
        return out, commit


def run():
    torch.manual_seed(0)
    enc = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 3))
    vq = EMAQuantizer()
    dec = nn.Sequential(nn.Linear(3, 10), nn.ReLU(), nn.Linear(10, 5))
    net = nn.ModuleDict({"enc": enc, "vq": vq, "dec": dec}).train()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    start = {k: v.clone() for k, v in net.state_dict().items()}
    losses = []
    for _ in range(5):
        x = torch.randn(20, 1).sign() + 0.1 * torch.randn(20, 5)
        z, commit = vq(enc(x))
        loss = F.mse_loss(dec(z), x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return {k: not torch.equal(v, start[k]) for k, v in net.state_dict().items()}, losses


def verify(outcome):
    moved, losses = outcome
    assert all(moved.values()), moved
    assert losses[-1] < losses[0]


TRUTH = Truth()
