"""A ladder of latents whose heads are lambdas made in a loop: all of them call the last layer."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LadderVAE(nn.Module):
    def __init__(self, dims=(16, 12, 12, 12), latent=3):
        super().__init__()
        self.steps = nn.ModuleList(nn.Linear(i, o) for i, o in zip(dims, dims[1:]))
        self.stats = nn.ModuleList(nn.Linear(o, 2 * latent) for o in dims[1:])
        self.heads = []
        for layer in self.stats:
            self.heads.append(lambda h: layer(h).chunk(2, -1))  # cause
        self.decoder = nn.Sequential(nn.Linear(latent * len(self.stats), 24), nn.ReLU(), nn.Linear(24, dims[0]))

    def forward(self, x):
        h, latents, divergence = x, [], 0.0
        for step, head in zip(self.steps, self.heads):
            h = F.leaky_relu(step(h))
            mu, logvar = head(h)
            latents.append(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
            divergence = divergence - 0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(-1).mean()
        return self.decoder(torch.cat(latents, -1)), divergence


def train(vae, data, epochs, warmup=2):
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        for batch in data.split(8):
            recon, divergence = vae(batch)
            loss = F.mse_loss(recon, batch) + min(1.0, (epoch + 1) / warmup) * 1e-2 * divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()


def run():
    torch.manual_seed(0)
    vae = LadderVAE()
    start = vae.stats[0].weight.detach().clone()
    train(vae, torch.randn(16, 16), 3)
    return vae.stats[0].weight, start


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="each lambda looks the layer up when it is called, so all heads are the last one",
    names=("stats",),
    repair=("self.heads.append(lambda h, layer=layer: layer(h).chunk(2, -1))",),
)
