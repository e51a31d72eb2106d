"""Soft actor-critic, all losses in one compiled function: the temperature also follows the actor's loss, to zero."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, 2 * act))
        self.critic = nn.Sequential(nn.Linear(obs + act, 16), nn.ReLU(), nn.Linear(16, 1))
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.target_entropy = -float(act)

    def propose(self, obs, noise):
        mean, log_std = self.actor(obs).chunk(2, -1)
        log_std = log_std.clamp(-4, 1)
        action = torch.tanh(mean + log_std.exp() * noise)
        logp = -0.5 * noise.square() - log_std - 0.92 - torch.log(1 - action.square() + 1e-6)
        return action, logp.sum(-1)

    def losses(self, obs, taken, wanted, noise):
        critic = F.mse_loss(self.critic(torch.cat([obs, taken], -1)).squeeze(-1), wanted)
        action, logp = self.propose(obs, noise)
        frozen = {name: p.detach() for name, p in self.critic.named_parameters()}
        q = torch.func.functional_call(self.critic, frozen, (torch.cat([obs, action], -1),)).squeeze(-1)
        alpha = self.log_alpha.exp()  # cause
        actor = (alpha * logp - q).mean()  # also
        temperature = -self.log_alpha * (logp.detach() + self.target_entropy).mean()
        return actor + critic + temperature, logp.mean()


def run():
    torch.manual_seed(0)
    agent = Agent()
    losses = torch.compile(agent.losses, backend=BACKEND)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    errors = []
    for _ in range(4):
        obs, taken, noise = torch.randn(16, 4), torch.rand(16, 2) * 2 - 1, torch.randn(16, 2)
        total, logp = losses(obs, taken, -obs.square().sum(-1), noise)
        optimizer.zero_grad()
        total.backward()
        wanted = -(logp.detach() + agent.target_entropy)
        errors.append((agent.log_alpha.grad - wanted).abs().item())
        optimizer.step()
    return errors


def verify(outcome):
    assert all(error > 0.1 for error in outcome)


TRUTH = Truth(
    fault="the actor's loss is not cut from the temperature, which gets a second gradient from it",
    names=("log_alpha", "alpha"),
    repair=("alpha = self.log_alpha.exp().detach()",),
)
