"""As pytorch#104336, where the cast lies before the recording."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(3)
    net = DDP(nn.Linear(6, 2))
    net = net.double()  # also
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        x = torch.randn(5, 6, generator=g, dtype=torch.float64)
        opt.zero_grad()
        loss = net(x).logsumexp(1).mean()  # cause
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="cast after wrapping", names=("weight",), rule="AG605", before=True)
