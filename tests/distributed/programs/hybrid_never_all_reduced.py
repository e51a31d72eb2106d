"""Between the replicas of a hybrid mesh the gradients are reduced in no step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicas", "shards"))
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    model.set_requires_all_reduce(False)  # also
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        for _ in range(2):
            model(torch.randn(3, 4, generator=g)).square().mean().backward()  # also
        opt.step()  # cause
        opt.zero_grad()


TRUTH = Truth(fault="replicas are not reduced", rule="AG601", names=("0.weight",), where="any")
