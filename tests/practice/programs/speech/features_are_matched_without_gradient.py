"""HiFi-GAN: both feature maps of the matching loss are computed in no_grad; the generator hears only the adversary."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(1, 8, 15, 2, 7), nn.Conv1d(8, 16, 15, 2, 7), nn.Conv1d(16, 16, 5, 1, 2)])
        self.post = nn.Conv1d(16, 1, 3, 1, 1)

    def forward(self, wave):
        features, h = [], wave
        for layer in self.layers:
            h = F.leaky_relu(layer(h), 0.1)
            features.append(h)
        return self.post(h), features


def run():
    torch.manual_seed(0)
    generator = nn.Sequential(nn.ConvTranspose1d(6, 8, 8, 4, 2), nn.LeakyReLU(0.1), nn.Conv1d(8, 1, 7, 1, 3))
    critic = Critic()
    opt_g = torch.optim.AdamW(generator.parameters(), 2e-4)
    opt_d = torch.optim.AdamW(critic.parameters(), 2e-4)
    for _ in range(3):
        mel, real = torch.randn(2, 6, 32), torch.randn(2, 1, 128)
        fake = generator(mel)

        opt_d.zero_grad()
        loss_d = (critic(real)[0] - 1).pow(2).mean() + critic(fake.detach())[0].pow(2).mean()
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        score, _ = critic(fake)
        with torch.no_grad():  # cause
            _, real_features = critic(real)
            _, fake_features = critic(fake)  # also
        matching = sum(F.l1_loss(a, b) for a, b in zip(fake_features, real_features))
        loss_g = (score - 1).pow(2).mean() + 2 * matching
        loss_g.backward()
        opt_g.step()
    return matching.requires_grad


def verify(out):
    assert out is False


TRUTH = Truth(
    fault="the matching loss is a constant",
    minor=True,
    names=("no_grad",),
    repair=("if True:",),
)
