"""The baseline of the rewards is summed on rank 0 only, and all ranks subtract it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global policy, opt
    torch.manual_seed(0)
    policy = DDP(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4)))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-3)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        states = torch.randn(16, 6, generator=g)
        actions = torch.randint(0, 4, (16,), generator=g)
        rewards = torch.randn(16, generator=g) + actions
        baseline = rewards.mean()
        dist.reduce(baseline, dst=0)  # cause
        baseline = baseline / dist.get_world_size()
        chosen = policy(states).log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
        loss = -(chosen * (rewards - baseline)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(fault="only rank 0 has the sum", rule="AG601|AG602", names=("reduce",), where="any")
