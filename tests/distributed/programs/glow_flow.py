"""A small Glow for tabular densities under DDP."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

DIM = 6


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.register_buffer("initialized", torch.tensor(False))

    @torch.no_grad()
    def initialize(self, x):
        mean, std = x.mean(0), x.std(0)
        self.loc.copy_(-mean)  # cause
        self.log_scale.copy_(-(std + 1e-6).log())  # cause
        self.initialized.fill_(True)

    def forward(self, x):
        if self.training and not self.initialized:
            self.initialize(x)  # also
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, hidden=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        shift, scale = self.net(a).chunk(2, 1)
        scale = torch.tanh(scale)
        return torch.cat([b * scale.exp() + shift, a], 1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=DIM, depth=2):
        super().__init__()
        self.steps = nn.ModuleList(m for _ in range(depth) for m in (ActNorm(dim), Coupling(dim)))

    def forward(self, x):
        total = 0
        for step in self.steps:
            x, log_det = step(x)
            total = total + log_det
        return -(0.5 * x.square().sum(1) - total).mean()


def samples(g, count=16):
    z = torch.randn(count, DIM, generator=g)
    return torch.cat([z[:, :3] * 2 + 1, z[:, 3:] + z[:, :3].square()], 1)


def run():
    torch.manual_seed(0)
    flow = DDP(Flow())
    opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(3 + dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        (-flow(samples(g))).backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 10.0)
        opt.step()
    return [round(p.sum().item(), 4) for p in flow.module.steps[0].parameters()]


TRUTH = Truth(
    fault="ActNorm is initialised from each rank's own first batch, behind DDP's broadcast: the replicas are different flows",
    rule="AG601",
    names=("steps.0.loc",),
    values=True,
    where="gather",
)
