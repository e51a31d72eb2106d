"""SAC as it is written by hand: actor's turn without freezing the critics, temperature by `.exp()`, polyak by lerp."""

import copy

import torch
from torch import nn
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, s):
        mu, log_std = self.net(s).chunk(2, -1)
        return TransformedDistribution(Normal(mu, log_std.clamp(-5, 2).exp()), [TanhTransform(cache_size=1)])


def q_net():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))


def run():
    torch.manual_seed(0)
    actor, q1, q2 = Actor(), q_net(), q_net()
    t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
    log_alpha = torch.zeros(1, requires_grad=True)
    opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
    opt_q = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=1e-3)
    opt_t = torch.optim.Adam([log_alpha], lr=1e-3)
    s = torch.randn(3)
    memory = []
    for step in range(12):
        with torch.no_grad():
            a = actor(s).sample()
        s2 = 0.9 * s + 0.1 * torch.randn(3)
        memory.append((s, a, -s2.pow(2).sum(), s2))
        s = s2
        if step < 7:
            continue
        bs, ba, br, bs2 = (torch.stack(x) for x in zip(*memory[-8:]))
        alpha = log_alpha.exp().detach()
        with torch.no_grad():
            d2 = actor(bs2)
            a2 = d2.rsample()
            lp2 = d2.log_prob(a2).sum(-1, keepdim=True)
            x2 = torch.cat([bs2, a2], -1)
            y = br[:, None] + 0.99 * (torch.min(t1(x2), t2(x2)) - alpha * lp2)
        x = torch.cat([bs, ba], -1)
        loss_q = (q1(x) - y).pow(2).mean() + (q2(x) - y).pow(2).mean()
        opt_q.zero_grad()
        loss_q.backward()
        opt_q.step()
        d = actor(bs)
        pi = d.rsample()
        lp = d.log_prob(pi).sum(-1, keepdim=True)
        xp = torch.cat([bs, pi], -1)
        loss_a = (alpha * lp - torch.min(q1(xp), q2(xp))).mean()
        opt_a.zero_grad()
        loss_a.backward()
        opt_a.step()
        loss_t = -(log_alpha * (lp.detach() - 1.0)).mean()
        opt_t.zero_grad()
        loss_t.backward()
        opt_t.step()
        with torch.no_grad():
            for net, target in ((q1, t1), (q2, t2)):
                for p, tp in zip(net.parameters(), target.parameters()):
                    tp.lerp_(p, 0.01)


TRUTH = Truth()
