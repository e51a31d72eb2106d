"""PPO on a bandit: the old log-probabilities are recomputed with the graph of the same policy, so the ratio's gradient cancels."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


@dataclass
class Args:
    n_obs: int = 4
    n_act: int = 3
    clip_coef: float = 0.2
    vf_coef: float = 0.5
    update_epochs: int = 2
    lr: float = 3e-3


class Agent(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(a.n_obs, 16), nn.Tanh(), nn.Linear(16, a.n_act))
        self.critic = nn.Sequential(nn.Linear(a.n_obs, 16), nn.Tanh(), nn.Linear(16, 1))

    def act(self, obs):
        return Categorical(logits=self.actor(obs)).sample()

    def evaluate(self, obs, action):
        dist = Categorical(logits=self.actor(obs))
        return dist.log_prob(action), dist.entropy(), self.critic(obs).squeeze(-1)


def rollout(agent, args, n=32):
    obs = torch.randn(n, args.n_obs)
    with torch.no_grad():
        action = agent.act(obs)
    reward = (action == obs[:, : args.n_act].argmax(1)).float()
    return obs, action, reward


def run():
    torch.manual_seed(2)
    args = Args()
    agent = Agent(args)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    actor_grads = []
    for iteration in range(2):
        obs, action, reward = rollout(agent, args)
        for _ in range(args.update_epochs):
            old_logp, _, old_value = agent.evaluate(obs, action)  # cause
            adv = reward - old_value.detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            logp, _, value = agent.evaluate(obs, action)
            ratio = (logp - old_logp).exp()  # also
            surr = torch.min(ratio * adv, ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef) * adv)
            loss = -surr.mean() + args.vf_coef * (value - reward).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            actor_grads.append(sum(p.grad.abs().sum().item() for p in agent.actor.parameters()))
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    return actor_grads


def verify(actor_grads):
    assert max(actor_grads) < 1e-5, actor_grads


TRUTH = Truth(
    fault="old_logp comes from the same policy with its graph, so the gradients of logp and old_logp cancel and the actor's gradient is zero",
    names=("actor",),
    repair=("with torch.no_grad():\n    old_logp, _, old_value = agent.evaluate(obs, action)",),
)
