"""VAE: the latent is drawn with sample(), so the reconstruction never reaches the encoder."""

import torch
from torch import nn
from torch.distributions import Bernoulli, Normal, kl_divergence

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, z_dim=4):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Flatten())
        self.loc = nn.Linear(8 * 16, z_dim)
        self.scale = nn.Linear(8 * 16, z_dim)

    def forward(self, x):
        h = self.conv(x)
        return Normal(self.loc(h), nn.functional.softplus(self.scale(h)) + 1e-4)


class Decoder(nn.Module):
    def __init__(self, z_dim=4):
        super().__init__()
        self.fc = nn.Linear(z_dim, 8 * 16)
        self.deconv = nn.ConvTranspose2d(8, 1, 4, 2, 1)

    def forward(self, z):
        return Bernoulli(logits=self.deconv(torch.relu(self.fc(z)).view(-1, 8, 4, 4)))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, x):
        q = self.encoder(x)
        z = q.sample()  # cause
        recon = self.decoder(z).log_prob(x).sum((1, 2, 3))
        kl = kl_divergence(q, Normal(0.0, 1.0)).sum(1)
        return recon, kl, z


@torch.no_grad()
def generate(model, n=2):
    return model.decoder(torch.randn(n, 4)).mean


def run():
    torch.manual_seed(0)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    z = None
    for epoch in range(3):
        x = (torch.rand(6, 1, 8, 8) > 0.5).float()
        recon, kl, z = model(x)
        loss = (kl - recon).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} elbo {-loss.item():.2f} kl {kl.mean().item():.3f} px {generate(model).mean().item():.2f}")
    return z


def verify(z):
    assert not z.requires_grad


TRUTH = Truth(
    fault="sample() in place of rsample(): the encoder learns from the KL term only",
    names=("sample",),
    repair=("z = q.rsample()",),
)
