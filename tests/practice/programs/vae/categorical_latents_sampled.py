"""A discrete VAE draws its codes with `Categorical.sample()`: the encoder learns nothing."""

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

from tests.practice.truth import Truth


class DiscreteVAE(nn.Module):
    def __init__(self, inputs=10, latents=3, classes=4):
        super().__init__()
        self.latents, self.classes = latents, classes
        self.encoder = nn.Sequential(nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, latents * classes))
        self.decoder = nn.Sequential(nn.Linear(latents * classes, 16), nn.ReLU(), nn.Linear(16, inputs))

    def forward(self, x):
        logits = self.encoder(x).view(-1, self.latents, self.classes)
        codes = Categorical(logits=logits).sample()  # cause
        z = F.one_hot(codes, self.classes).float()
        return self.decoder(z.flatten(1))


def run():
    torch.manual_seed(0)
    vae = DiscreteVAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
    for _ in range(3):
        x = torch.rand(8, 10)
        loss = F.binary_cross_entropy_with_logits(vae(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return vae.encoder[0].weight.grad


TRUTH = Truth(
    fault="sampling cuts the encoder off",
    names=("encoder",),
    repair=("soft = F.gumbel_softmax(logits); return self.decoder(soft.flatten(1)); codes = 0",),
)


def verify(grad):
    assert grad is None
