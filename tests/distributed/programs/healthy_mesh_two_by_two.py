"""Four ranks, 2 x 2: column-split layer on one axis, data parallel on the other."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh

from tests.distributed.truth import Truth

WORLD = 4


class SplitMLP(nn.Module):
    """Hidden units split over the tensor axis; the two halves are added."""

    def __init__(self, d, hidden, group):
        super().__init__()
        n, r = dist.get_world_size(group), dist.get_rank(group)
        full_up, full_down = nn.Linear(d, hidden, bias=False), nn.Linear(hidden, 1, bias=False)
        self.up = nn.Parameter(full_up.weight.detach().chunk(n, 0)[r].clone())
        self.down = nn.Parameter(full_down.weight.detach().chunk(n, 1)[r].clone())
        self.group = group

    def forward(self, x):
        part = (x @ self.up.t()).relu() @ self.down.t()
        total = part.detach().clone()
        dist.all_reduce(total, group=self.group)
        return part + (total - part.detach())


def setup():
    global mesh, model, opt, grad_group
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = SplitMLP(6, 16, mesh.get_group("tp"))
    grad_group = mesh.get_group(0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    dp = mesh.get_local_rank("dp")
    g = torch.Generator().manual_seed(12 + dp)
    for _ in range(3):
        x = torch.randn(8, 6, generator=g)
        loss = nn.functional.mse_loss(model(x), x[:, :1].abs())
        opt.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, group=grad_group)
            p.grad /= dist.get_world_size(grad_group)
        opt.step()


TRUTH = Truth(values=True)
