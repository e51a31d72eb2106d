"""Robot arm: the running observation statistics are plain attributes, so a saved and loaded policy sees unnormalised observations."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RunningNorm(nn.Module):
    def __init__(self, dim, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.mean = torch.zeros(dim)  # cause
        self.var = torch.ones(dim)  # cause

    def forward(self, obs):
        if self.training:
            with torch.no_grad():
                self.mean.lerp_(obs.mean(0), self.momentum)
                self.var.lerp_(obs.var(0), self.momentum)
        return (obs - self.mean) / (self.var + 1e-5).sqrt()


class Policy(nn.Module):
    def __init__(self, joints=6, actions=3):
        super().__init__()
        self.norm = RunningNorm(2 * joints)
        self.net = nn.Sequential(nn.Linear(2 * joints, 24), nn.Tanh(), nn.Linear(24, actions))

    def forward(self, obs):
        return self.net(self.norm(obs))


def demonstrations(n):
    angle = 90 + 30 * torch.randn(n, 6)
    speed = 2 * torch.randn(n, 6)
    action = torch.tanh(-(angle[:, :3] - 90) / 30 - 0.2 * speed[:, :3])
    return torch.cat([angle, speed], 1), action


def clone_behaviour(policy, obs, action, steps):
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    policy.train()
    for _ in range(steps):
        loss = F.mse_loss(policy(obs), action)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def export(policy):
    file = io.BytesIO()
    torch.save(policy.state_dict(), file)
    file.seek(0)
    return file


def run():
    torch.manual_seed(0)
    obs, action = demonstrations(64)
    policy = Policy()
    clone_behaviour(policy, obs, action, 4)
    deployed = Policy()
    deployed.load_state_dict(torch.load(export(policy)))
    policy.eval(), deployed.eval()
    with torch.no_grad():
        return policy(obs), deployed(obs)


def verify(outcome):
    trained, deployed = outcome
    assert not torch.allclose(trained, deployed, atol=1e-5)


TRUTH = Truth(
    fault="mean and var are no buffers: state_dict() leaves them out",
    names=("mean", "var"),
    every_line=False,
    repair=(
        'self.register_buffer("mean", torch.zeros(dim))',
        'self.register_buffer("var", torch.ones(dim))',
    ),
)
