"""IQL: the advantage weights are not clamped, the exponential overflows and the policy becomes NaN."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


def expectile(diff, tau=0.7):
    weight = torch.where(diff > 0, tau, 1 - tau)
    return (weight * diff.pow(2)).mean()


class IQL:
    def __init__(self, beta=10.0):
        self.q, self.v, self.policy = mlp(6, 1), mlp(4, 1), mlp(4, 2)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.beta = beta
        self.opts = [torch.optim.Adam(m.parameters(), lr=1e-3) for m in (self.q, self.v, self.policy)]

    def step(self, loss, opt):
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    def update(self, obs, act, rew, nxt):
        sa = torch.cat([obs, act], 1)
        with torch.no_grad():
            q = self.q_target(sa)
            y = rew + 0.99 * self.v(nxt)
        adv = q - self.v(obs)
        v_loss = self.step(expectile(adv), self.opts[1])
        q_loss = self.step((self.q(sa) - y).pow(2).mean(), self.opts[0])
        weight = torch.exp(self.beta * adv.detach())  # cause
        bc = (self.policy(obs) - act).pow(2).sum(1, keepdim=True)
        pi_loss = self.step((weight * bc).mean(), self.opts[2])
        for p, tp in zip(self.q.parameters(), self.q_target.parameters()):
            tp.data.lerp_(p.data, 0.05)
        return v_loss, q_loss, pi_loss


def run():
    torch.manual_seed(0)
    agent = IQL()
    # rewards as the data set has them: hundreds, not normalized
    with torch.no_grad():
        agent.q_target[2].bias.fill_(40.0)
    for _ in range(3):
        obs, act, nxt = torch.randn(16, 4), torch.rand(16, 2), torch.randn(16, 4)
        agent.update(obs, act, 100 * torch.rand(16, 1), nxt)
    return agent


def verify(agent):
    assert agent.policy[0].weight.isnan().any()


TRUTH = Truth(
    values=True,
    fault="exp of the advantage overflows to inf",
    names=("weight",),
    repair=("weight = torch.exp(self.beta * adv.detach()).clamp(max=100.0)",),
)
