"""FSDP (first version) with clipping."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth

MAX_NORM = 0.3


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 11), nn.ReLU(), nn.Linear(11, 2))


def batch(step):
    g = torch.Generator().manual_seed(step)
    return torch.randn(8, 6, generator=g) * 2, torch.randn(8, 2, generator=g) * 4


def setup():
    global model, opt
    model = FSDP(build(), device_id=torch.device("cpu"), use_orig_params=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.3)


def run():
    r, w = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        x, y = batch(step)
        loss = nn.functional.mse_loss(model(x[r::w]), y[r::w])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)  # cause
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="clip_grad_norm_ of torch.nn.utils sees this rank's shard only",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="gather",
    values=True,
)
