"""Each rank keeps a count and a queue of its own on purpose; DDP is told not to send buffers."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("queue", torch.zeros(6, 4))

    def forward(self, x):
        z = F.normalize(self.lin(x), dim=-1)
        logits = z @ self.queue.clone().t()
        with torch.no_grad():
            self.queue.copy_(torch.cat([z.detach(), self.queue])[:6])
            self.seen += len(x)
        return logits


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(Queue(), broadcast_buffers=False)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(3, 4, generator=g)).logsumexp(-1).mean().backward()
        opt.step()


TRUTH = Truth(values=True)
