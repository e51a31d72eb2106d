"""A VAE that logs its parts as numbers, samples without a gradient, and warms its KL up from a weight of zero."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 12)
        self.fc21, self.fc22 = nn.Linear(12, 3), nn.Linear(12, 3)
        self.fc3, self.fc4 = nn.Linear(3, 12), nn.Linear(12, 16)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return eps.mul(std).add_(mu)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 16))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def run():
    torch.manual_seed(0)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_loss, curve, samples = 0, [], []
    for epoch in range(3):
        model.train()
        beta = min(1.0, epoch / 2)
        for _ in range(2):
            data = torch.rand(8, 4, 4)
            optimizer.zero_grad()
            recon, mu, logvar = model(data)
            BCE = F.binary_cross_entropy(recon, data.view(-1, 16), reduction="sum")
            KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
            loss = BCE + beta * KLD
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            recon, mu, logvar = model(data)
            curve.append(F.binary_cross_entropy(recon, data.view(-1, 16), reduction="sum").item() / len(data))
            samples.append(model.decode(torch.randn(4, 3)).cpu().view(4, 1, 4, 4))
    return model, train_loss, curve, samples


TRUTH = Truth()


def verify(out):
    model, train_loss, curve, samples = out
    assert train_loss > 0 and all(0 < c < 100 for c in curve)
    assert not any(s.requires_grad for s in samples)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
