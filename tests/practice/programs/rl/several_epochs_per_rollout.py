"""Reinforcement learning: PPO over shared trunks with two optimizers, clipped values and an early stop; all right."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth

OBS, ACTIONS, N = 6, 3, 48


class SharedTrunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBS, 24), nn.Tanh())
        self.pi, self.v = nn.Linear(24, ACTIONS), nn.Linear(24, 1)
        nn.init.zeros_(self.pi.weight)

    def forward(self, obs, value_only=False):
        h = self.trunk(obs)
        value = self.v(h.detach()).squeeze(-1)  # the value head shall not shape the trunk
        return value if value_only else (Categorical(logits=self.pi(h)), value)


@torch.no_grad()
def collect(agent):
    obs = torch.randn(N, OBS)
    dist, value = agent(obs)
    action = dist.sample()
    reward = (action == obs[:, :ACTIONS].argmax(1)).float()
    advantage = reward - value
    return {
        "obs": obs,
        "action": action,
        "logp": dist.log_prob(action),
        "value": value,
        "return": reward,
        "advantage": (advantage - advantage.mean()) / advantage.std(),
    }


def minibatches(data, size):
    for index in torch.randperm(N).split(size):
        yield {k: v[index] for k, v in data.items()}


def update(agent, pi_opt, v_opt, data, epochs=3, clip=0.2, target_kl=0.05):
    kls = []
    for _ in range(epochs):
        for mb in minibatches(data, 16):
            dist, value = agent(mb["obs"])
            logratio = dist.log_prob(mb["action"]) - mb["logp"]
            ratio = logratio.exp()
            pi_loss = -torch.min(ratio * mb["advantage"], ratio.clamp(1 - clip, 1 + clip) * mb["advantage"]).mean()
            clipped = mb["value"] + (value - mb["value"]).clamp(-clip, clip)
            v_loss = torch.max(F.mse_loss(value, mb["return"], reduction="none"), (clipped - mb["return"]) ** 2).mean()
            pi_opt.zero_grad()
            (pi_loss - 0.01 * dist.entropy().mean()).backward()
            pi_opt.step()
            v_opt.zero_grad()
            v_loss.backward()
            v_opt.step()
            kls.append(((ratio - 1) - logratio).mean().item())
        if kls[-1] > target_kl:
            break
    return kls


def run():
    torch.manual_seed(0)
    agent = SharedTrunk()
    pi_opt = torch.optim.Adam([*agent.trunk.parameters(), *agent.pi.parameters()], lr=1e-2)
    v_opt = torch.optim.Adam(agent.v.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in agent.named_parameters()}
    kls = [update(agent, pi_opt, v_opt, collect(agent)) for _ in range(2)]
    return kls, before, dict(agent.named_parameters())


def verify(outcome):
    kls, before, after = outcome
    assert abs(kls[0][0]) < 1e-6 and kls[0][1] != 0
    assert all(not torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth()
