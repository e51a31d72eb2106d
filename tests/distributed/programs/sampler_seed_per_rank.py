"""Each rank shuffles with a seed of its own, so that the shards overlap."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    sampler = DistributedSampler(data, seed=rank)  # cause
    loader = DataLoader(data, batch_size=4, sampler=sampler)  # also
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:  # also
            opt.zero_grad()
            F.mse_loss(model(x), y).backward()
            opt.step()


TRUTH = Truth(fault="seed per rank", names=("seed",), rule="AG604", where="gather")
