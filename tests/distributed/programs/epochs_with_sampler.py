"""Epochs over a DistributedSampler with DDP."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from tests.distributed.truth import Truth


def setup():
    global model, opt, loader, sampler, order
    torch.manual_seed(0)
    x = torch.randn(40, 5)
    data = TensorDataset(torch.arange(40), x, x.sum(1, keepdim=True))
    sampler = DistributedSampler(data, shuffle=True, seed=3, drop_last=True)
    loader = DataLoader(data, batch_size=5, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    order = []


def run():
    for epoch in range(3):
        ids = []
        for i, x, y in loader:  # cause
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ids.append(i)
        order.append(torch.cat(ids))


TRUTH = Truth(
    rule="AG604",
    fault="set_epoch is never called: each rank sees the same shard in the same order",
    where="own",
    values=True,
)
