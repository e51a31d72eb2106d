"""Each rank trains its own agent with its own settings; returns are collected for a log."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global agent, opt
    torch.manual_seed(dist.get_rank())
    agent = nn.Linear(4, 2)
    opt = torch.optim.Adam(agent.parameters(), lr=10.0 ** -(1 + dist.get_rank()))


def run():
    for _ in range(3):
        x = torch.randn(3, 4)
        loss = agent(x).logsumexp(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        score = loss.detach().clone()
        dist.all_reduce(score)


TRUTH = Truth(values=True)
