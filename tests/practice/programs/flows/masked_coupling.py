"""RealNVP with index masks: the transformed half is written into the batch that the conditioner's first layer saved."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class MaskedCoupling(nn.Module):
    def __init__(self, dim, flip, hidden=16):
        super().__init__()
        mask = torch.arange(dim) % 2 == int(flip)
        self.register_buffer("keep", mask)
        self.s = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        given = x * self.keep
        s = self.s(given) * ~self.keep
        t = self.t(given) * ~self.keep
        out = x
        out[:, ~self.keep] = (x * s.exp() + t)[:, ~self.keep]  # cause
        return out, s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, dim=4, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(MaskedCoupling(dim, flip=i % 2) for i in range(layers))

    def forward(self, x):
        logdet = torch.zeros(x.shape[0])
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return x, logdet

    def log_prob(self, x):
        z, logdet = self(x)
        prior = -0.5 * (z**2).sum(1) - 0.5 * z.shape[1] * math.log(2 * math.pi)
        return prior + logdet


def run():
    torch.manual_seed(0)
    model = RealNVP()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    data = torch.randn(96, 4).cumsum(1)
    for epoch in range(2):
        for (batch,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=48):
            batch = batch + 0.01 * torch.randn_like(batch)
            loss = -model.log_prob(batch).mean()
            opt.zero_grad()
            loss.backward()  # symptom
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        print(f"epoch {epoch}: {loss.item() / math.log(2) / 4:.3f} bits/dim")
    return model


TRUTH = Truth(
    fault="the coupling overwrites a tensor that its own product saved",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("out",),
    repair=("out = torch.where(self.keep, x, x * s.exp() + t)",),
)
