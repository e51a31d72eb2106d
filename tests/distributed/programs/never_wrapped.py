"""A DistributedSampler and no wrapper."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    global model, opt, loader
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters())
    data = TensorDataset(torch.randn(16, 4))
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))


def run():
    loader.sampler.set_epoch(1)
    for (x,) in loader:  # also
        loss = model(x).square().mean()  # also
        opt.zero_grad()
        loss.backward()  # also
        opt.step()  # cause


TRUTH = Truth(fault="nothing is reduced", names=("weight",), rule="AG601")
