"""PopArt: when the statistics of the returns move, the last layer is rewritten in place so that its outputs stay."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PopArt(nn.Module):
    def __init__(self, features, beta=0.1):
        super().__init__()
        self.linear, self.beta = nn.Linear(features, 1), beta
        for name, value in (("mu", 0.0), ("nu", 1.0), ("sigma", 1.0)):
            self.register_buffer(name, torch.tensor(value))

    def forward(self, h):
        normalised = self.linear(h)
        with torch.no_grad():
            value = normalised * self.sigma + self.mu
        return value, normalised

    @torch.no_grad()
    def update(self, targets):
        old_mu, old_sigma = self.mu.clone(), self.sigma.clone()
        self.mu.lerp_(targets.mean(), self.beta)
        self.nu.lerp_(targets.pow(2).mean(), self.beta)
        self.sigma.copy_((self.nu - self.mu**2).clamp(min=1e-4).sqrt())
        self.linear.weight.mul_(old_sigma / self.sigma)
        self.linear.bias.mul_(old_sigma).add_(old_mu - self.mu).div_(self.sigma)
        return (targets - self.mu) / self.sigma


def run():
    torch.manual_seed(0)
    trunk, head = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), PopArt(16)
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.05)
    gaps, losses = [], []
    for scale in (1.0, 10.0, 100.0, 100.0):
        obs = torch.randn(32, 4)
        returns = scale * (1 + obs[:, :1])
        with torch.no_grad():
            before, _ = head(trunk(obs))
        normalised_target = head.update(returns)
        value, normalised = head(trunk(obs))
        gaps.append((value - before).abs().max().item() / scale)
        loss = 0.5 * (normalised - normalised_target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return trunk, head, gaps, losses


TRUTH = Truth()


def verify(out):
    trunk, head, gaps, losses = out
    assert max(gaps) < 1e-3 and head.mu > 10 and max(losses) < 100
    assert all(p.grad.abs().sum() > 0 for m in (trunk, head) for p in m.parameters())
