"""Generative: the reparameterization became torch.normal(mu, std), through which no gradient of the reconstruction comes back."""

import torch
import torch.nn.functional as F
from torch import nn, optim

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self, width=36, hidden=24, latent=4):
        super().__init__()
        self.width = width
        self.fc1 = nn.Linear(width, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, width)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        if not self.training:
            return mu
        return torch.normal(mu, std)  # cause

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, self.width))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar, beta=0.5):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, recon_x.size(1)), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + beta * KLD, BCE


def train(epoch, model, loader, optimizer, log):
    model.train()
    train_loss = 0
    for data in loader:
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss, bce = loss_function(recon_batch, data, mu, logvar)
        if epoch == 2:
            g = torch.autograd.grad(bce, list(model.parameters()), retain_graph=True, allow_unused=True)
            log.append(
                {n: 0.0 if t is None else float(t.abs().sum()) for (n, _), t in zip(model.named_parameters(), g)}
            )
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    return train_loss


def test(model, loader):
    model.eval()
    total = 0
    with torch.no_grad():
        for data in loader:
            recon_batch, mu, logvar = model(data)
            total += loss_function(recon_batch, data, mu, logvar)[0].item()
    return total


def run():
    torch.manual_seed(1)
    images = (torch.rand(32, 1, 6, 6) > 0.6).float()
    loader = images.split(16)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    log, curve = [], []
    for epoch in range(1, 3):
        train(epoch, model, loader, optimizer, log)
        curve.append(test(model, loader))
        with torch.no_grad():
            model.decode(torch.randn(4, 4)).view(4, 1, 6, 6)
    return log, curve


def verify(outcome):
    log, _ = outcome
    assert all(entry["fc1.weight"] == 0 and entry["fc21.weight"] == 0 for entry in log)


TRUTH = Truth(
    fault="the latent is drawn with torch.normal, so the reconstruction loss sends zeros to the encoder",
    names=("normal",),
    repair=("return mu + torch.randn_like(std) * std",),
)
