import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = spectral_norm(nn.Linear(6, 8))
        self.mix = nn.Linear(8, 8)
        parametrize.register_parametrization(self.mix, "weight", Symmetric())
        self.rot = orthogonal(nn.Linear(8, 8))
        self.out = weight_norm(nn.Linear(8, 1))

    def forward(self, x):
        h = F.leaky_relu(self.inp(x), 0.2)
        h = torch.tanh(self.mix(h))
        h = self.rot(h)
        return self.out(h)


def run():
    critic = Critic()
    opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for step in range(4):
        real, fake = torch.randn(8, 6), torch.randn(8, 6) + 1
        loss = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return critic
