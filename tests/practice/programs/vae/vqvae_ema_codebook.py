"""VQ-VAE with a codebook by moving averages: the sums of the encoder's outputs are kept with their graph, ever longer."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes=8, dim=4, decay=0.99, eps=1e-5):
        super().__init__()
        self.n_codes, self.decay, self.eps = n_codes, decay, eps
        embed = torch.randn(n_codes, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n_codes))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed.t() + self.embed.pow(2).sum(1)
        idx = dist.argmin(1)
        q = F.embedding(idx, self.embed).view_as(z)
        if self.training:
            one_hot = F.one_hot(idx, self.n_codes).type(flat.dtype)
            self.cluster_size = self.cluster_size * self.decay + one_hot.sum(0) * (1 - self.decay)
            embed_sum = one_hot.t() @ flat  # cause
            self.embed_avg = self.embed_avg * self.decay + embed_sum * (1 - self.decay)  # also
            n = self.cluster_size.sum()
            size = (self.cluster_size + self.eps) / (n + self.n_codes * self.eps) * n
            self.embed.data.copy_(self.embed_avg / size.unsqueeze(1))
        commit = (q.detach() - z).pow(2).mean()
        return z + (q - z).detach(), commit, idx


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.quantize = EMAQuantizer()
        self.dec = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        q, commit, idx = self.quantize(self.enc(x))
        return self.dec(q), commit, idx


def run():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=3e-4)
    for i in range(4):
        model.train()
        x = torch.randn(6, 5, 8)
        recon, commit, idx = model(x)
        loss = F.mse_loss(recon, x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            err = F.mse_loss(model(x)[0], x).item()
        print(f"{i} train {loss.item():.4f} eval {err:.4f} used {idx.unique().numel()}")
    return model


def verify(model):
    assert model.quantize.embed_avg.grad_fn is not None


TRUTH = Truth(
    fault="the buffer of the moving average holds the graphs of all steps",
    names=("embed_avg",),
    repair=("embed_sum = one_hot.t() @ flat.detach()",),
)
