"""Terms of a compiled loss are read as floats for the log only."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_var, self.decoder = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(2, 6)
        self.log = []

    def forward(self, x):
        mean, log_var = self.mean(x), self.log_var(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        fit = F.mse_loss(self.decoder(z), x)
        kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()
        self.log.append((float(fit), kl.item(), z.detach().norm().tolist()))
        return fit + 0.1 * kl


def setup():
    global vae, optimizer
    torch.manual_seed(0)
    vae = torch.compile(VAE(), backend=BACKEND)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)


def run():
    for _ in range(3):
        loss = vae(torch.randn(5, 6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
