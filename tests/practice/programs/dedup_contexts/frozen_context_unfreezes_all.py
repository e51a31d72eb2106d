"""Deduplicated: `with frozen(model)` replaced hand-written toggles; on leaving it sets requires_grad on all, the frozen backbone included."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Perceptual(nn.Module):
    """A frozen feature net with a small learned calibration on top."""

    def __init__(self, channels=1):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(channels, 6, 3), nn.ReLU(), nn.Conv1d(6, 6, 3)).requires_grad_(False)
        self.calibrate = nn.Conv1d(6, 6, 1)

    def forward(self, x):
        return self.calibrate(self.features(x))


@contextmanager
def frozen(module):
    for p in module.parameters():
        p.requires_grad_(False)
    try:
        yield module
    finally:
        for p in module.parameters():
            p.requires_grad_(True)  # cause


def train_step(generator, critic, optimizers, noisy, clean):
    with frozen(critic):
        loss = F.l1_loss(critic(generator(noisy)), critic(clean))
        optimizers["generator"].zero_grad()
        loss.backward()
        optimizers["generator"].step()
    margin = F.relu(1 - (critic(clean) - critic(generator(noisy).detach())).abs().mean())
    optimizers["critic"].zero_grad()
    margin.backward()
    optimizers["critic"].step()


def run():
    torch.manual_seed(0)
    critic = Perceptual()
    generator = nn.Conv1d(1, 1, 5, padding=2)
    optimizers = {
        "generator": torch.optim.Adam(generator.parameters(), lr=1e-3),
        "critic": torch.optim.Adam(critic.parameters(), lr=1e-3),
    }
    before = critic.features[0].weight.clone()
    for _ in range(3):
        clean = torch.randn(4, 1, 16)
        train_step(generator, critic, optimizers, clean + 0.1 * torch.randn_like(clean), clean)
    return before, critic.features[0].weight


def verify(outcome):
    before, weight = outcome
    assert weight.requires_grad and not torch.equal(before, weight.detach())


TRUTH = Truth(
    fault="the context unfreezes parameters that were frozen before it: the pretrained features are trained",
    names=("features",),
    repair=("p.requires_grad_(p is module.calibrate.weight or p is module.calibrate.bias)",),
)
