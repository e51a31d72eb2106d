"""beta-VAE: the weight of the KL term is a Parameter, the optimizer lowers it to get a lower loss."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BetaVAE(nn.Module):
    def __init__(self, x_dim=12, z_dim=3, hidden=16, beta=4.0):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, hidden), nn.ReLU(), nn.Linear(hidden, 2 * z_dim))
        self.decoder = nn.Sequential(nn.Linear(z_dim, hidden), nn.ReLU(), nn.Linear(hidden, x_dim))
        self.beta = nn.Parameter(torch.tensor(beta))  # cause

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar

    def loss(self, x):
        recon, mu, logvar = self(x)
        rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
        kld = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return rec + self.beta * kld, {"rec": rec.item(), "kld": kld.item()}


def run():
    torch.manual_seed(0)
    model = BetaVAE()
    opt = torch.optim.Adam(model.parameters(), lr=5e-2)  # also
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.95)
    for epoch in range(4):
        model.train()
        x = torch.randn(16, 12)
        loss, logs = model.loss(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        model.eval()
        with torch.no_grad():
            val, _ = model.loss(torch.randn(8, 12))
        print(f"epoch {epoch} train {loss.item():.3f} val {val.item():.3f} {logs}")
    return model.beta.item()


def verify(beta):
    assert beta < 3.9


TRUTH = Truth(
    fault="a hyperparameter is trained",
    names=("beta",),
    repair=('self.register_buffer("beta", torch.tensor(beta))',),
)
