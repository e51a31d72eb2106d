"""Each rank keeps a queue of its own keys, and a bank that averages the features of each sample of its own shard."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.register_buffer("queue", F.normalize(torch.randn(3, 12), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))
        self.register_buffer("bank", F.normalize(torch.randn(12, 3), dim=1))

    def forward(self, x, i):
        z = F.normalize(self.net(x), dim=1)
        near = F.cross_entropy(z @ self.bank.clone().T / 0.1, i)
        far = (z @ self.queue.clone()).logsumexp(1).mean()
        with torch.no_grad():
            at = int(self.ptr)
            self.queue[:, at : at + 3] = z.T
            self.ptr[0] = (at + 3) % 12
            self.bank[i] = F.normalize(0.5 * self.bank[i] + 0.5 * z, dim=1)
        return near + far


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(Memory(), broadcast_buffers=False)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        opt.zero_grad()
        net(torch.randn(3, 4, generator=g), torch.arange(3) + 3 * step).backward()
        opt.step()


TRUTH = Truth(values=True)
