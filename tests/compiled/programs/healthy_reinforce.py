"""REINFORCE with a compiled policy that samples: log probabilities carry the gradient, the baseline is detached."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.compiled.backend import BACKEND

HEALTHY = True


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy, self.critic = nn.Linear(3, 4), nn.Linear(3, 1)

    def forward(self, states):
        choice = Categorical(logits=self.policy(states))
        actions = choice.sample()
        return actions, choice.log_prob(actions), choice.entropy(), self.critic(states).squeeze(-1)


def setup():
    global agent, optimizer
    torch.manual_seed(0)
    agent = torch.compile(Agent(), backend=BACKEND)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)


def run():
    for _ in range(2):
        states = torch.randn(8, 3)
        actions, log_probs, entropy, values = agent(states)
        returns = torch.randn(8) + actions
        advantage = returns - values
        loss = -(log_probs * advantage.detach()).mean() + advantage.pow(2).mean() - 0.01 * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
