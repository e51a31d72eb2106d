"""Mixed precision by hand: unscale, average the gradients across ranks, clip, step with the GradScaler."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net, opt, scaler, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15)
    g = torch.Generator().manual_seed(dist.get_rank())


def average(params):
    world = dist.get_world_size()
    for p in params:
        dist.all_reduce(p.grad)
        p.grad /= world


def half_grads(params):
    """What a backward in half precision leaves."""
    for p in params:
        p.grad = p.grad.half().float()


def run():
    for step in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randn(4, 1, generator=g)
        if step == 1 and dist.get_rank() == 1:
            y = y * 50  # an outlier batch: overflows in half precision
        scaler.scale(F.mse_loss(net(x), y)).backward()
        half_grads(net.parameters())
        scaler.unscale_(opt)  # cause
        average(net.parameters())  # also
        scaler.step(opt)  # also
        scaler.update()
        opt.zero_grad()
    return round(net[2].weight.norm().item(), 4), scaler.get_scale()


TRUTH = Truth(
    fault="inf is looked for on each rank before the reduction: one rank skips the step and the others step with inf",
    rule="AG603",
    names=("step",),
    where="gather",
)
