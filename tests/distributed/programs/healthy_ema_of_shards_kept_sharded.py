"""fully_shard with an EMA of the sharded parameters; the EMA is swapped in for evaluation and taken out again."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def setup():
    global net, opt, ema, g
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Dropout(0.2), nn.Linear(16, 4))
    for layer in (net[0], net[3]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    ema = {n: p.detach().to_local().clone() for n, p in net.named_parameters()}
    g = torch.Generator().manual_seed(dist.get_rank())
    torch.manual_seed(20 + dist.get_rank())


@torch.no_grad()
def swap():
    for n, p in net.named_parameters():
        local = p.to_local()
        mine = local.clone()
        local.copy_(ema[n])
        ema[n].copy_(mine)


@torch.no_grad()
def evaluate():
    swap()
    net.eval()
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(99))
    value = net(x).logsumexp(1).mean()
    net.train()
    swap()
    return round(value.item(), 5)


def run():
    values = []
    for _ in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 4, (4,), generator=g)
        F.cross_entropy(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            for n, p in net.named_parameters():
                ema[n].lerp_(p.to_local(), 0.1)
        values.append(evaluate())
    return values


TRUTH = Truth()
