"""Every rank asks for the shard of rank 0."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    global model, opt, data
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(16, 4))


def run():
    sampler = DistributedSampler(data, num_replicas=2, rank=0)  # cause
    for (x,) in DataLoader(data, batch_size=4, sampler=sampler):  # also
        opt.zero_grad()
        model(x).square().mean().backward()
        opt.step()


TRUTH = Truth(fault="the same shard", names=("rank",), rule="AG604")
