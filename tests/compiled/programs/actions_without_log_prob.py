"""A policy's sampled actions weigh the loss instead of their log probabilities; the critic beside it learns."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ("policy",)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))
        self.critic = nn.Linear(3, 1)

    def forward(self, states):
        actions = Categorical(logits=self.policy(states)).sample()  # cause
        return actions, self.critic(states).squeeze(-1)


def setup():
    global agent, optimizer
    torch.manual_seed(0)
    agent = torch.compile(Agent(), backend=BACKEND)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)


def run():
    for _ in range(2):
        states, returns = torch.randn(16, 3), torch.randn(16)
        actions, values = agent(states)
        advantages = (returns - values).detach()
        loss = -(actions.float() * advantages).mean() + (returns - values).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
