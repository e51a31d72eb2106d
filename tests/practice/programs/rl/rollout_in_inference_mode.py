"""A rollout in inference mode; its states are used in the update."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, s):
        return Normal(self.mu(s), self.log_std.exp())


def normalise(x, eps=1e-8):
    return (x - x.mean(0)) / (x.std(0) + eps)


@torch.inference_mode()  # cause
def rollout(actor, steps=6):
    states, actions, rewards = [], [], []
    s = torch.randn(3)
    for _ in range(steps):
        a = actor(s).sample()
        states.append(s)
        actions.append(a)
        rewards.append(-s.pow(2).sum() - 0.1 * a.pow(2).sum())
        s = 0.9 * s + 0.1 * a + 0.1 * torch.randn(3)
    return normalise(torch.stack(states)), torch.stack(actions), torch.stack(rewards)


def run():
    torch.manual_seed(0)
    actor = Actor()
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    for _ in range(2):
        states, actions, rewards = rollout(actor)
        log_prob = actor(states).log_prob(actions).sum(-1)  # also
        loss = -(log_prob * normalise(rewards)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


TRUTH = Truth(
    fault="inference tensors are saved for backward",
    raises="Inference tensors cannot be saved for backward",
    repair=("@torch.no_grad()",),
)
