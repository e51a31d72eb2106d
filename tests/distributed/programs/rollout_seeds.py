"""Policy gradient with one environment worker a rank."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth


class Bandit:
    """Contextual bandit: the best arm is the largest feature."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def reset(self, n):
        self.x = torch.randn(n, 4, generator=self.g)
        return self.x

    def step(self, a):
        return (a == self.x.argmax(-1)).float()


class Worker:
    def __init__(self, policy, seed):
        self.policy = policy
        self.env = Bandit(seed)  # cause
        self.g = torch.Generator().manual_seed(seed + 1)

    def rollout(self, n=16):
        x = self.env.reset(n)
        with torch.no_grad():
            a = torch.multinomial(self.policy(x).softmax(-1), 1, generator=self.g).squeeze(1)
        return x, a, self.env.step(a)


def setup():
    global policy, opt, worker, seen
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    worker = Worker(policy, seed=1234)
    seen = []


def run():
    world = dist.get_world_size()
    for _ in range(4):
        x, a, r = worker.rollout()
        seen.append(x)
        stats = torch.stack([r.sum(), r.square().sum(), torch.tensor(float(len(r)))])
        dist.all_reduce(stats)
        mean = stats[0] / stats[2]
        std = (stats[1] / stats[2] - mean**2).clamp(min=1e-6).sqrt()
        logp = policy(x).log_softmax(-1).gather(1, a[:, None]).squeeze(1)
        loss = -(logp * (r - mean) / std).mean()
        opt.zero_grad()
        loss.backward()
        for p in policy.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        opt.step()


TRUTH = Truth(
    rule="AG604",
    fault="every rank's environment has the same seed: the same rollouts twice",
    where="gather",
    values=True,
    before=True,
)
