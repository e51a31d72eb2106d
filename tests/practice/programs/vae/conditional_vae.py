"""VAE: the function that draws samples turns gradients off for the whole process and does not turn them on again."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ConditionalVAE(nn.Module):
    def __init__(self, n_classes=4, z=3):
        super().__init__()
        self.n_classes, self.z = n_classes, z
        self.encoder = nn.Sequential(nn.Linear(16 + n_classes, 24), nn.ELU())
        self.mu, self.logvar = nn.Linear(24, z), nn.Linear(24, z)
        self.decoder = nn.Sequential(nn.Linear(z + n_classes, 24), nn.ELU(), nn.Linear(24, 16))

    def decode(self, z, y):
        return self.decoder(torch.cat([z, F.one_hot(y, self.n_classes).float()], 1))

    def forward(self, x, y):
        h = self.encoder(torch.cat([x, F.one_hot(y, self.n_classes).float()], 1))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decode(z, y), mu, logvar


def elbo(x, recon, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    return (bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())) / len(x)


def sample(model):
    model.eval()
    torch.set_grad_enabled(False)  # cause
    y = torch.arange(model.n_classes)
    images = torch.sigmoid(model.decode(torch.randn(len(y), model.z), y))  # cause
    model.train()
    return images


def run():
    torch.manual_seed(0)
    model = ConditionalVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    gallery = []
    try:
        for epoch in range(2):
            for _ in range(2):
                x, y = torch.rand(6, 16), torch.randint(0, 4, (6,))
                loss = elbo(x, *model(x, y))
                opt.zero_grad()
                loss.backward()  # symptom
                opt.step()
            gallery.append(sample(model))
            print(f"epoch {epoch} loss {loss.item():.3f} mean pixel {gallery[-1].mean().item():.3f}")
    finally:
        torch.set_grad_enabled(True)


TRUTH = Truth(
    fault="set_grad_enabled(False) is never undone",
    raises="element 0 of tensors does not require grad",
    names=("set_grad_enabled",),
    repair=("", "with torch.no_grad():\n    images = torch.sigmoid(model.decode(torch.randn(len(y), model.z), y))"),
)
