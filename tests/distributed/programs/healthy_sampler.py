"""DistributedSampler with set_epoch, and validation on rank 0."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    global model, opt, loader, sampler, val
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(16, 4))
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    val = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))


def run():
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            opt.zero_grad()
            model(x).square().mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for (x,) in val:
                model(x)
        model.train()
        if dist.get_rank() == 0:
            copy.deepcopy(model.module.state_dict())
        dist.barrier()


TRUTH = Truth(values=True)
