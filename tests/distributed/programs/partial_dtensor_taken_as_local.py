"""A row-parallel linear by DTensor: the product's local tensor is used as the layer's output."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from tests.distributed.truth import Truth


class RowParallel(nn.Module):
    def __init__(self, d_in, d_out, mesh):
        super().__init__()
        self.mesh = mesh
        self.weight = nn.Parameter(distribute_tensor(torch.randn(d_in, d_out) / d_in**0.5, mesh, [Shard(0)]))

    def forward(self, x):
        x = distribute_tensor(x, self.mesh, [Replicate()]).redistribute(placements=[Shard(1)])
        y = x @ self.weight  # also
        return y.to_local()  # cause


def setup():
    global layer, head, opt, g
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    layer, head = RowParallel(6, 4, mesh), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1, foreach=False)
    g = torch.Generator().manual_seed(0)  # the same batch on all ranks of the tensor-parallel group


def run():
    losses = []
    for _ in range(3):
        x, y = torch.randn(8, 6, generator=g), torch.randint(0, 3, (8,), generator=g)
        loss = F.cross_entropy(head(torch.tanh(layer(x))), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(round(loss.item(), 4))
    return losses, round(head.weight.norm().item(), 5)


TRUTH = Truth(
    fault="to_local() of a Partial DTensor: each rank goes on with its own summand and the head's copies drift",
    rule="AG601",
    names=("to_local",),
    where="any",
)
