"""SpinningUp-like VPG: the environment returns its state tensor, which it changes in place: the buffer holds one observation."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class PointEnv:
    """Walk on a line; the reward is high near the origin."""

    def __init__(self, horizon=8):
        self.horizon = horizon
        self.state = torch.zeros(2)

    def reset(self):
        self.t = 0
        self.state[:] = torch.tensor([1.0, 0.0]) + 0.3 * torch.randn(2)
        return self.state  # cause

    def step(self, action):
        self.t += 1
        self.state[1] += 0.2 * (action - 1)
        self.state[0] += self.state[1]
        return self.state, -self.state[0].abs().item(), self.t == self.horizon  # cause


class VPGBuffer:
    def __init__(self, gamma=0.95):
        self.obs, self.act, self.rew, self.ret, self.gamma = [], [], [], [], gamma

    def store(self, obs, act, rew):
        self.obs.append(obs)  # also
        self.act.append(act)
        self.rew.append(rew)

    def finish_path(self):
        ret, rets = 0.0, []
        for r in reversed(self.rew[len(self.ret) :]):
            ret = r + self.gamma * ret
            rets.insert(0, ret)
        self.ret += rets

    def get(self):
        return torch.stack(self.obs), torch.stack(self.act), torch.tensor(self.ret)


class MLPActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
        self.v = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    @torch.no_grad()
    def step(self, obs):
        return Categorical(logits=self.pi(obs)).sample()


def run():
    torch.manual_seed(0)
    env, ac = PointEnv(), MLPActorCritic()
    pi_optimizer = torch.optim.Adam(ac.pi.parameters(), lr=3e-3)
    vf_optimizer = torch.optim.Adam(ac.v.parameters(), lr=1e-2)
    distinct = []
    for _ in range(2):
        buf = VPGBuffer()
        for _ in range(3):
            o, done = env.reset(), False
            while not done:
                a = ac.step(o)
                next_o, r, done = env.step(a)
                buf.store(o, a, r)
                o = next_o
            buf.finish_path()
        obs, act, ret = buf.get()
        adv = ret - ac.v(obs).squeeze(-1).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pi_optimizer.zero_grad()
        (-(Categorical(logits=ac.pi(obs)).log_prob(act) * adv).mean()).backward()
        pi_optimizer.step()
        for _ in range(3):
            vf_optimizer.zero_grad()
            (ac.v(obs).squeeze(-1) - ret).pow(2).mean().backward()
            vf_optimizer.step()
        distinct.append(len(obs.unique(dim=0)))
    return distinct


def verify(outcome):
    assert outcome == [1, 1]


TRUTH = Truth(
    fault="the stored observations are all env.state, changed in place by each step: the networks see the last state for every action",
    names=("obs",),
    repair=(
        "return self.state.clone()",
        "return self.state.clone(), -self.state[0].abs().item(), self.t == self.horizon",
    ),
)
