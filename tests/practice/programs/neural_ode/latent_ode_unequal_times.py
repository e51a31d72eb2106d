"""A latent ODE on series with missing points: NaN is replaced before the encoder and masked before the loss."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LatentODE(nn.Module):
    def __init__(self, dim=2, latent=4):
        super().__init__()
        self.rnn = nn.GRU(2 * dim, 8, batch_first=True)
        self.to_z0 = nn.Linear(8, 2 * latent)
        self.f = nn.Sequential(nn.Linear(latent, 16), nn.Tanh(), nn.Linear(16, latent))
        self.decode = nn.Linear(latent, dim)

    def forward(self, x, mask, times):
        _, h = self.rnn(torch.cat([x, mask.float()], -1).flip(1))
        mu, logvar = self.to_z0(h[-1]).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        path = [z]
        for a, b in zip(times[:-1], times[1:]):
            dt = (b - a).item()
            k1 = self.f(z)
            k2 = self.f(z + 0.5 * dt * k1)
            z = z + dt * k2
            path.append(z)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return self.decode(torch.stack(path, 1)), kl


def run():
    torch.manual_seed(0)
    model = LatentODE()
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    losses, seen = [], []
    for step in range(3):
        times = torch.rand(6).sort().values
        clean = torch.stack([torch.sin(4 * times), torch.cos(4 * times)], -1).expand(5, 6, 2)
        series = clean + 0.05 * torch.randn(5, 6, 2)
        series[torch.rand(5, 6, 2) < 0.3] = float("nan")
        mask = ~torch.isnan(series)
        pred, kl = model(torch.nan_to_num(series), mask, times)
        nll = (pred - torch.where(mask, series, 0.0)).pow(2)[mask].mean()
        loss = nll + min(1.0, step / 3) * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        seen.append(mask.float().mean().item())
    return model, losses, seen


TRUTH = Truth()


def verify(out):
    model, losses, seen = out
    assert all(torch.isfinite(p.grad).all() and p.grad.abs().sum() > 0 for p in model.parameters())
    assert all(0 < s < 1 for s in seen) and all(0 < loss < 100 for loss in losses)
