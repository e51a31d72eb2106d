"""Post-local SGD: all-reduce while warm, then local steps with periodic averaging."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth

WARM, PERIOD, STEPS = 2, 3, 8


def setup():
    global net, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(31 + dist.get_rank())


@torch.no_grad()
def average(tensors):
    tensors = list(tensors)
    flat = torch.cat([t.flatten() for t in tensors])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for t, f in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(f.view_as(t))


def run():
    for step in range(STEPS):
        x = torch.randn(8, 6)
        loss = nn.functional.mse_loss(net(x), x.prod(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        if step < WARM:
            average(p.grad for p in net.parameters())
        opt.step()
        if step >= WARM and (step - WARM + 1) % PERIOD == 0:
            average(net.parameters())
            average(opt.state[p]["momentum_buffer"] for p in net.parameters())


TRUTH = Truth()
