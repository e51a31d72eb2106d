"""PPO update on a batch of stored transitions."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth, fails


class Agent(nn.Module):
    def __init__(self, obs_dim=5, n_actions=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh())
        self.actor = nn.Linear(16, n_actions)
        self.critic = nn.Linear(16, 1)

    def evaluate(self, obs, act):
        h = self.trunk(obs)
        dist = Categorical(logits=self.actor(h))
        return dist.log_prob(act), self.critic(h).squeeze(-1), dist.entropy()


class PPO:
    def __init__(self, agent, clip=0.2, lr=1e-2, epochs=3, ent_coef=0.0):
        self.agent, self.clip, self.epochs, self.ent_coef = agent, clip, epochs, ent_coef
        self.opt = torch.optim.Adam(agent.parameters(), lr=lr)

    def update(self, obs, act, ret, adv):
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(self.epochs):
            for idx in torch.randperm(len(obs)).chunk(4):
                old_logp, _, _ = self.agent.evaluate(obs[idx], act[idx])  # cause
                logp, value, entropy = self.agent.evaluate(obs[idx], act[idx])
                ratio = (logp - old_logp).exp()  # also
                surr = torch.min(ratio * adv[idx], ratio.clamp(1 - self.clip, 1 + self.clip) * adv[idx])
                loss = -surr.mean() + 0.5 * (ret[idx] - value).pow(2).mean() - self.ent_coef * entropy.mean()
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), 0.5)
                self.opt.step()


def run():
    torch.manual_seed(7)
    agent = Agent()
    start = agent.actor.weight.detach().clone()
    obs, act = torch.randn(32, 5), torch.randint(0, 3, (32,))
    ret, adv = torch.randn(32), torch.randn(32)
    algo = PPO(agent)
    algo.update(obs, act, ret, adv)
    return start, agent


TRUTH = Truth(
    fault="the old log probability comes from the current policy with its graph: the ratio's gradient cancels",
    names=("old_logp",),
    values=True,
    repair=("with torch.no_grad():\n    old_logp, _, _ = self.agent.evaluate(obs[idx], act[idx])",),
)


def well(out):
    start, agent = out
    assert (agent.actor.weight - start).abs().max() > 1e-3


verify = fails(well)
