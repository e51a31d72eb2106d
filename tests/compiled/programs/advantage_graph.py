"""Reinforcement learning: an actor and a critic with a shared compiled loss, rewards discounted backwards."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the advantage keeps the critic's graph, so the policy loss trains the critic, against its own loss",
    names=("advantage", "detach", "critic", "value"),
    repair=("advantage = (returns - value).detach()",),
)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def setup():
    torch.manual_seed(0)


def discount(rewards, gamma):
    total, out = torch.zeros(rewards.shape[1:]), []
    for reward in rewards.flip(0):
        total = reward + gamma * total
        out.append(total)
    return torch.stack(out[::-1])


def run():
    agent = Agent()
    optimizer = torch.optim.RMSprop(agent.parameters(), lr=3e-3)

    @torch.compile(backend=BACKEND)
    def losses(obs, action, returns):
        value = agent.critic(obs)[..., 0]
        log_all = torch.log_softmax(agent.actor(obs), -1)
        logp = log_all.gather(-1, action[..., None])[..., 0]
        advantage = returns - value  # cause
        policy = -(logp * advantage).mean() + 0.01 * (log_all.exp() * log_all).sum(-1).mean()
        return policy, 0.5 * nn.functional.mse_loss(value, returns)

    gaps = []
    for _ in range(3):
        obs, action = torch.randn(6, 4, 4), torch.randint(2, (6, 4))
        returns = discount(torch.rand(6, 4) * 3, 0.9)
        policy, value = losses(obs, action, returns)
        critic = list(agent.critic.parameters())
        alone = 0.5 * nn.functional.mse_loss(agent.critic(obs)[..., 0], returns)
        wanted = torch.autograd.grad(alone, critic)
        optimizer.zero_grad()
        (policy + value).backward()  # symptom
        gaps.append(max((p.grad - g).abs().max().item() for p, g in zip(critic, wanted)))
        optimizer.step()
    return gaps


def verify(outcome):
    assert min(outcome) > 1e-2
