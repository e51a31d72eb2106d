"""DDP run with an optional optimizer step fused into backward."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

FUSED = True  # cause


def fuse(params, make):
    opts = {p: make([p]) for p in params}

    def hook(p):
        opts[p].step()
        opts[p].zero_grad()

    if FUSED:
        for p in opts:
            p.register_post_accumulate_grad_hook(hook)  # also
    return opts


def setup():
    global model, opts
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    model = DDP(net)
    opts = fuse(list(net.parameters()), lambda ps: torch.optim.SGD(ps, lr=0.05))
    torch.manual_seed(7 + dist.get_rank())


def run():
    for step in range(4):
        x = torch.randn(8, 4)
        loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
        loss.backward()
        if not FUSED:
            for o in opts.values():
                o.step()
                o.zero_grad()


TRUTH = Truth(
    rule="AG601",
    fault="the optimizer steps in a hook that fires before DDP reduces the gradient",
    names=("4.weight",),
    before=True,
)
