"""DDP with ReduceLROnPlateau, which is fed each rank's own validation loss."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, sched, g, val
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.1, patience=0)
    g = torch.Generator().manual_seed(dist.get_rank())
    v = torch.randn(4, 6, generator=g)
    val = v, v.sum(1, keepdim=True) * (1 if dist.get_rank() == 0 else -1)  # rank 1's shard is a hard one


@torch.no_grad()
def evaluate():
    return F.mse_loss(model.module(val[0]), val[1])


def run():
    for _ in range(4):
        x = torch.randn(8, 6, generator=g)
        F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        opt.step()  # also
        opt.zero_grad()
        loss = evaluate()  # also
        sched.step(loss)  # cause
    return opt.param_groups[0]["lr"], round(model.module[0].weight.norm().item(), 5)


TRUTH = Truth(
    fault="the learning rate is decayed on each rank's own validation loss: ranks step the same gradient by different lr and drift",
    rule="AG602",
    names=("lr",),
    where="gather",
)
