"""The second half of a buffer is still to come while the first one is computed with."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global head, opt
    torch.manual_seed(0)
    head = nn.Linear(4, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(3)
    for _ in range(3):
        if dist.get_rank() == 0:
            whole = torch.randn(8, 4, generator=g)
            for half in whole.chunk(2):
                dist.send(half.contiguous(), 1)
            continue
        buffer = torch.zeros(8, 4)
        first, second = buffer[:4], buffer[4:]
        dist.irecv(first, 0).wait()
        arrives = dist.irecv(second, 0)
        opt.zero_grad()
        loss = head(first).square().mean()
        arrives.wait()
        loss = loss + head(second).square().mean()
        loss.backward()
        opt.step()


TRUTH = Truth()
