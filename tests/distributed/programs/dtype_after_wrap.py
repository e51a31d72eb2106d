"""The wrapped model is cast: the hooks of the reducer are on nodes that no backward uses any more."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)))
    model.to(torch.float64)  # cause
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(4, 4, dtype=torch.float64)).square().mean()  # also
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="cast after wrapping", names=("0.weight",), rule="AG605")
