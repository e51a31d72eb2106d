"""Only rank 0 moves the epoch of its sampler."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    global model, opt, loader, sampler
    torch.manual_seed(0)
    model = DDP(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(24, 4), torch.randint(0, 2, (24,)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)


def run():
    for epoch in range(3):
        if dist.get_rank() == 0:
            sampler.set_epoch(epoch)
        for x, y in loader:  # cause
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()


TRUTH = Truth(fault="parts of different orders", rule="AG604", names=("DistributedSampler",), where="any")
