"""The epoch's average is summed up as tensors, so the first epoch's graphs are alive in the last."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AverageMeter:
    def __init__(self, name, fmt=".4f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum = self.sum + val * n  # cause
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return f"{self.name} {self.val:{self.fmt}} ({self.avg:{self.fmt}})"


class VAE(nn.Module):
    def __init__(self, dim=10, latent=2):
        super().__init__()
        self.enc = nn.Linear(dim, 2 * latent)
        self.dec = nn.Sequential(nn.Linear(latent, 8), nn.ReLU(), nn.Linear(8, dim))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def elbo(x, recon, mu, logvar, beta):
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec.detach(), kl.detach()


def train(model, opt, data, beta):
    losses, recs, kls = AverageMeter("loss"), AverageMeter("rec", ".2f"), AverageMeter("kl", ".3f")
    for x in data:
        loss, rec, kl = elbo(x, *model(x), beta)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.update(loss, len(x))  # also
        recs.update(rec.item(), len(x))
        kls.update(kl.item(), len(x))
    print(losses, recs, kls, sep=" | ")
    return losses


def run():
    torch.manual_seed(0)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = [torch.randn(8, 10) for _ in range(4)]
    meters = [train(model, opt, data, beta=min(1.0, (epoch + 1) / 2)) for epoch in range(2)]
    return meters


def depth(tensor):
    node, n = getattr(tensor, "grad_fn", None), 0
    while node is not None:
        node, n = node.next_functions[0][0] if node.next_functions else None, n + 1
    return n


def verify(out):
    assert depth(out[-1].sum) > 4


TRUTH = Truth(
    fault="the meter keeps every step's graph",
    names=("sum",),
    repair=("self.sum = self.sum + float(val) * n",),
)
