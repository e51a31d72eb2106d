"""GAN with DDP: the discriminator, which has BatchNorm, sees real and fake batches in two calls before one backward."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global gen, dis, opt_g, opt_d, g
    torch.manual_seed(0)
    gen = DDP(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 5)))
    dis = DDP(nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.LeakyReLU(0.2), nn.Linear(8, 1)))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(dis.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    for _ in range(2):
        real, z = torch.randn(6, 5, generator=g), torch.randn(6, 3, generator=g)
        fake = gen(z)
        d_real = dis(real)
        d_fake = dis(fake.detach())
        loss_d = F.softplus(-d_real).mean() + F.softplus(d_fake).mean()
        loss_d.backward()
        opt_d.step()
        opt_d.zero_grad()
        loss_g = F.softplus(-dis(fake)).mean()
        loss_g.backward()
        opt_g.step()
        opt_g.zero_grad()
        opt_d.zero_grad()
    return round(sum(p.sum().item() for p in dis.parameters()), 4)


TRUTH = Truth()
