"""PPO with a replicated policy; the ranks take the statistics of observations together."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Running:
    def __init__(self, size):
        self.mean, self.var, self.count = torch.zeros(size), torch.ones(size), 1e-4

    def update(self, x):
        sums = torch.cat([x.sum(0), x.square().sum(0), x.new_tensor([len(x)])])
        dist.all_reduce(sums)
        n = sums[-1].item()
        m = sums[:4] / n
        v = sums[4:8] / n - m.square()
        delta, total = m - self.mean, self.count + n
        self.mean = self.mean + delta * n / total
        self.var = (self.var * self.count + v * n + delta.square() * self.count * n / total) / total
        self.count = total

    def __call__(self, x):
        return (x - self.mean) / (self.var + 1e-8).sqrt()


def setup():
    global policy, opt, norm, g
    torch.manual_seed(0)
    policy = DDP(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    norm = Running(4)
    g = torch.Generator().manual_seed(dist.get_rank())
    torch.manual_seed(50 + dist.get_rank())


def run():
    for _ in range(4):
        obs = torch.randn(32, 4, generator=g) * (1 + dist.get_rank()) + dist.get_rank()
        norm.update(obs)
        x = norm(obs)
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=policy.module(x)).sample()
        r = (a == (obs[:, 0] > 0.5).long()).float()
        logp = torch.distributions.Categorical(logits=policy(x)).log_prob(a)
        loss = -(logp * (r - r.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return norm.mean.tolist()


TRUTH = Truth(values=True)
