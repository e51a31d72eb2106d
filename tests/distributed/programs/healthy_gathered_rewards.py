"""RLHF, small: rewards of all ranks are gathered and whitened, the controller of the KL term follows the mean of all."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))


def setup():
    global policy, reference, opt
    policy, reference = DDP(build()), build().requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-3)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    beta = 0.1
    for _ in range(3):
        states = torch.randn(16, 6, generator=g)
        actions = torch.randint(0, 4, (16,), generator=g)
        rewards = torch.randn(16, generator=g) + actions
        every = [torch.empty_like(rewards) for _ in range(dist.get_world_size())]
        dist.all_gather(every, rewards)
        every = torch.cat(every)
        advantages = (rewards - every.mean()) / (every.std() + 1e-6)
        for _ in range(2):
            log_probs = policy(states).log_softmax(-1)
            kl = (log_probs.exp() * (log_probs - reference(states).log_softmax(-1))).sum(-1).mean()
            loss = -(log_probs.gather(1, actions[:, None]).squeeze(1) * advantages).mean() + beta * kl
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()
        seen = kl.detach().clone()
        dist.all_reduce(seen)
        beta *= 1.1 if seen.item() / dist.get_world_size() > 0.05 else 0.9


TRUTH = Truth()
