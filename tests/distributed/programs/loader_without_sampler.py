"""The DistributedSampler is made and not given to the DataLoader."""

from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    sampler = DistributedSampler(data)  # also
    loader = DataLoader(data, batch_size=4, shuffle=True)  # cause
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:  # also
            opt.zero_grad()
            F.mse_loss(model(x), y).backward()  # also
            opt.step()


TRUTH = Truth(fault="each rank sees all the data, and the same", names=(), rule="AG604", where="any")
