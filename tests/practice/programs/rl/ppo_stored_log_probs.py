"""PPO: the rollout stores log-probabilities with their graphs, which the first epoch frees."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.pi, self.v = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Rollout:
    def __init__(self):
        self.states, self.actions, self.log_probs, self.rewards = [], [], [], []


def collect(net, steps=6):
    memory, s = Rollout(), torch.randn(4)
    for _ in range(steps):
        dist, _ = net(s)
        a = dist.sample()
        memory.states.append(s)
        memory.actions.append(a)
        memory.log_probs.append(dist.log_prob(a))  # cause
        memory.rewards.append(1.0 - 0.1 * float(a))
        s = torch.randn(4)
    return memory


def run():
    torch.manual_seed(0)
    net = ActorCritic()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
    memory = collect(net)
    returns = torch.tensor(memory.rewards)
    states, actions = torch.stack(memory.states), torch.stack(memory.actions)
    old = torch.stack(memory.log_probs)  # also
    for _ in range(3):
        dist, values = net(states)
        ratio = torch.exp(dist.log_prob(actions) - old)
        adv = returns - values.detach()
        actor = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        loss = actor + 0.5 * (returns - values).pow(2).mean() - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()


TRUTH = Truth(
    fault="old log-probabilities carry the graph of the rollout",
    raises="Trying to backward through the graph a second time",
    repair=("memory.log_probs.append(dist.log_prob(a).detach())",),
)
