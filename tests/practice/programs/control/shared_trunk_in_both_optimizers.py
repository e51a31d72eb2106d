"""Building control (actor-critic): the shared trunk is in both optimizers and the losses have one backward, so it is stepped twice."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self, sensors=5, settings=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(sensors, 16), nn.Tanh())
        self.actor = nn.Linear(16, settings)
        self.critic = nn.Linear(16, 1)

    def forward(self, s):
        h = self.trunk(s)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)

    def actor_parameters(self):
        return [*self.trunk.parameters(), *self.actor.parameters()]

    def critic_parameters(self):
        return [*self.trunk.parameters(), *self.critic.parameters()]  # cause


class HeatingAgent:
    def __init__(self, lr=0.05):
        self.net = ActorCritic()
        self.lr = lr
        self.opt_actor = torch.optim.SGD(self.net.actor_parameters(), lr=lr)
        self.opt_critic = torch.optim.SGD(self.net.critic_parameters(), lr=lr)  # also

    def update(self, state, comfort):
        policy, value = self.net(state)
        action = policy.sample()
        gain = comfort(action)
        advantage = gain - value
        loss = -(policy.log_prob(action) * advantage.detach()).mean() + 0.5 * advantage.square().mean()
        self.opt_actor.zero_grad()
        self.opt_critic.zero_grad()
        loss.backward()
        self.opt_actor.step()
        self.opt_critic.step()


def run():
    torch.manual_seed(0)
    agent = HeatingAgent()
    weight = agent.net.trunk[0].weight
    factors = []
    for _ in range(3):
        state = torch.randn(32, 5)
        best = state[:, :3].argmax(1)
        before = weight.detach().clone()
        agent.update(state, lambda a: (a == best).float())
        factors.append(((before - weight.detach()).norm() / (agent.lr * weight.grad.norm())).item())
    return factors


def verify(outcome):
    assert all(abs(f - 2) < 0.01 for f in outcome)


TRUTH = Truth(
    fault="both optimizers step the trunk with the same gradient: twice the learning rate there",
    names=("trunk",),
    repair=("return [*self.critic.parameters()]",),
)
