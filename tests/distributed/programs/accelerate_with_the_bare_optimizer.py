"""accelerate: gradient accumulation with accumulate(), but the loop keeps the optimizer that was passed to prepare."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

ACCUM = 2


def setup():
    global accelerator, model, optimizer, g
    rank, world = str(dist.get_rank()), str(dist.get_world_size())
    os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=world, LOCAL_WORLD_SIZE=world)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512", ACCELERATE_USE_CPU="true")
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=ACCUM)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    model, _ = accelerator.prepare(net, optimizer)  # also
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    losses = []
    for _ in range(2 * ACCUM):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()  # cause
            optimizer.zero_grad()  # also
        losses.append(round(loss.item(), 4))
    net = accelerator.unwrap_model(model)
    return losses, round(net[0].weight.norm().item(), 5)


TRUTH = Truth(
    fault="the unprepared optimizer steps at every micro-batch, on gradients that accumulate() has not reduced",
    rule="AG305|AG601",
    names=("SGD",),
    where="own",
)
