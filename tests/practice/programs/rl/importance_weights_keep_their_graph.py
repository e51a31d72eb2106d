"""IMPALA: the truncated importance weights carry gradients into the policy."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.pi, self.v = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, s):
        h = self.body(s)
        return self.pi(h), self.v(h).squeeze(-1)


def vtrace(rhos, values, rewards, bootstrap, gamma=0.99):
    rhos = rhos.clamp(max=1.0)
    following = torch.cat([values[1:], bootstrap[None]])
    deltas = rhos * (rewards + gamma * following - values)
    acc, out = torch.zeros_like(bootstrap), []
    for t in reversed(range(len(rewards))):
        acc = deltas[t] + gamma * rhos[t] * acc
        out.insert(0, values[t] + acc)
    vs = torch.stack(out)
    after = torch.cat([vs[1:], bootstrap[None]])
    return vs, rhos * (rewards + gamma * after - values)


def run():
    torch.manual_seed(0)
    net = ActorCritic()
    opt = torch.optim.RMSprop(net.parameters(), 1e-3)
    for _ in range(3):
        obs, act = torch.randn(6, 2, 4), torch.randint(3, (5, 2))
        behaviour = torch.randn(5, 2, 3)
        rewards = torch.randn(5, 2)
        logits, values = net(obs)
        log_pi = Categorical(logits=logits[:-1]).log_prob(act)
        rhos = (log_pi - Categorical(logits=behaviour).log_prob(act)).exp()
        vs, advantages = vtrace(rhos, values[:-1], rewards, values[-1])  # cause
        pg_loss = -(log_pi * advantages).mean()
        v_loss = (vs.detach() - values[:-1]).pow(2).mean()
        loss = pg_loss + 0.5 * v_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return advantages


def verify(out):
    assert out.requires_grad


TRUTH = Truth(
    fault="the advantages of V-trace carry the graph of policy and critic",
    names=("advantages",),
    repair=("vs, advantages = vtrace(rhos.detach(), values[:-1].detach(), rewards, values[-1].detach())",),
)
