"""MADDPG with discrete actions: the actor's turn gives the critic the one-hot of an argmax."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o))


class Agent:
    def __init__(self, obs=3, acts=4, agents=2):
        self.actor, self.critic = mlp(obs, acts), mlp(agents * (obs + acts), 1)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def act(self, obs):
        logits = self.actor(obs)
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()  # cause


def update(agents, obs, acts, rewards):
    for i, agent in enumerate(agents):
        joint = torch.cat([*obs, *acts], -1)
        critic_loss = F.mse_loss(agent.critic(joint).squeeze(-1), rewards[i])
        agent.critic_opt.zero_grad()
        critic_loss.backward()
        agent.critic_opt.step()

        mine = list(acts)
        mine[i] = agent.act(obs[i])
        actor_loss = -agent.critic(torch.cat([*obs, *mine], -1)).mean()
        agent.actor_opt.zero_grad()
        actor_loss.backward()
        agent.actor_opt.step()


def run():
    torch.manual_seed(0)
    agents = [Agent(), Agent()]
    before = agents[0].actor[0].weight.detach().clone()
    for _ in range(3):
        obs = [torch.randn(8, 3) for _ in agents]
        acts = [F.one_hot(torch.randint(4, (8,)), 4).float() for _ in agents]
        update(agents, obs, acts, [torch.randn(8) for _ in agents])
    return torch.equal(before, agents[0].actor[0].weight)


TRUTH = Truth(
    fault="no gradient passes the argmax",
    repair=("return F.gumbel_softmax(logits, hard=True)",),
)


def verify(still):
    assert still
