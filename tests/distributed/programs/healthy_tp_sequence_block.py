"""parallelize_module with sequence parallel norm, column and row parallel MLP."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from tests.distributed.truth import Truth


class FFN(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ffn = FFN(d)

    def forward(self, x):
        return self.ffn(self.norm(x))


def build():
    torch.manual_seed(0)
    return Block(8)


def setup():
    global block, opt
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    block = parallelize_module(
        build(),
        mesh,
        {
            "norm": SequenceParallel(),
            "ffn": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "ffn.up": ColwiseParallel(),
            "ffn.down": RowwiseParallel(output_layouts=Replicate()),
        },
    )
    opt = torch.optim.AdamW(block.parameters(), lr=1e-2)


def batch(step):
    g = torch.Generator().manual_seed(step)
    return torch.randn(2, 4, 8, generator=g), torch.randn(2, 4, 8, generator=g)


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        x, y = batch(step)
        loss = nn.functional.mse_loss(block(x.chunk(world, 1)[rank].contiguous()), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
