"""The exponential of an unbounded log variance overflows."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
    x = 400 * torch.rand(8, 6)
    for _ in range(2):
        mu, logvar = enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)  # also
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()  # cause
        loss = (dec(z) - x).pow(2).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    return enc


def verify(enc):
    assert not enc.weight.isfinite().all()


TRUTH = Truth(
    fault="exp of a large log variance is infinite",
    values=True,
    names=("exp",),
    repair=(
        "z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar.clamp(max=10))\nkl = -0.5 * (1 + logvar - mu.pow(2) - logvar.clamp(max=10).exp()).sum(1).mean()",
    ),
)
