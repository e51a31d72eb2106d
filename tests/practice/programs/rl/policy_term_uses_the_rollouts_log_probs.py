"""Actor-critic: the log-probabilities come from the rollout under no_grad; the value loss alone trains."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.v = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))

    def act(self, s):
        with torch.no_grad():  # cause
            dist = torch.distributions.Categorical(logits=self.pi(s))
            a = dist.sample()
            return a, dist.log_prob(a)  # also


def run():
    torch.manual_seed(0)
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        s = torch.randn(4)
        logps, states, rewards = [], [], []
        for _t in range(6):
            a, logp = net.act(s)
            logps.append(logp)
            states.append(s)
            rewards.append(float(a == (s[0] > 0)))
            s = torch.randn(4)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        values = net.v(torch.stack(states)).squeeze(-1)
        advantage = (returns - values).detach()
        loss = -(torch.stack(logps) * advantage).mean() + 0.5 * (returns - values).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net.pi[0].weight.grad is None


TRUTH = Truth(fault="the log-probabilities have no graph", names=("no_grad", "pi"), repair=("if True:",))
