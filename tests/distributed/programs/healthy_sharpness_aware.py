"""Sharpness-aware minimisation under DDP: each rank climbs by the gradient of its own batch, all descend together."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

RHO = 0.05


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(torch.relu(self.norm(self.conv(x))).amax(2))


class SAM:
    def __init__(self, params, base, rho):
        self.params, self.base, self.rho = list(params), base, rho
        self.center = {}

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        for p in self.params:
            self.center[p] = p.clone()
            p.add_(p.grad * self.rho / (norm + 1e-12))
            p.grad = None

    @torch.no_grad()
    def descend(self):
        for p in self.params:
            p.copy_(self.center.pop(p))
        self.base.step()
        self.base.zero_grad()


def setup():
    global model, sam, g
    torch.manual_seed(0)
    model = DDP(Net())
    sam = SAM(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3), RHO)
    g = torch.Generator().manual_seed(50 + dist.get_rank())


def run():
    model.train()
    for _ in range(4):
        x, y = torch.randn(6, 2, 9, generator=g), torch.randint(0, 3, (6,), generator=g)
        with model.no_sync():
            F.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        sam.climb()
        F.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        sam.descend()
    return [round(p.norm().item(), 6) for p in model.parameters()]


TRUTH = Truth(values=True)
