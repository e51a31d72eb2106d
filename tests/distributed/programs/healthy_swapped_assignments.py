"""SwAV on two ranks: Sinkhorn over the scores of all of them, prototypes on the sphere and kept still in the first epoch."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

TEMPERATURE, EPSILON, FROZEN_STEPS = 0.1, 0.05, 2


class SwAV(nn.Module):
    def __init__(self, dim=6, prototypes=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, dim))
        self.prototypes = nn.Linear(dim, prototypes, bias=False)

    def forward(self, x):
        return self.prototypes(F.normalize(self.backbone(x), dim=1))


@torch.no_grad()
def sinkhorn(scores, iterations=3):
    world = dist.get_world_size()
    q = torch.exp(scores / EPSILON).t()
    k, b = q.size(0), q.size(1) * world
    total = q.sum()
    dist.all_reduce(total)
    q /= total
    for _ in range(iterations):
        rows = q.sum(1, keepdim=True)
        dist.all_reduce(rows)
        q /= rows * k
        q /= q.sum(0, keepdim=True) * b
    return (q * b).t()


@torch.no_grad()
def normalize_prototypes(model):
    w = model.module.prototypes.weight
    w.copy_(F.normalize(w.clone(), dim=1))


def swapped_loss(model, views):
    scores = model(torch.cat(views)).chunk(2)
    loss = 0
    for i, j in ((0, 1), (1, 0)):
        target = sinkhorn(scores[i].detach())
        loss = loss - (target * F.log_softmax(scores[j] / TEMPERATURE, 1)).sum(1).mean()
    return loss / 2


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(SwAV())
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-6)
    g = torch.Generator().manual_seed(60 + dist.get_rank())


def run():
    for step in range(5):
        normalize_prototypes(model)
        x = torch.randn(8, 10, generator=g)
        views = [x + 0.1 * torch.randn(8, 10, generator=g) for _ in range(2)]
        loss = swapped_loss(model, views)
        opt.zero_grad()
        loss.backward()
        if step < FROZEN_STEPS:
            for name, p in model.named_parameters():
                if "prototypes" in name:
                    p.grad = None
        opt.step()
    return [round(p.norm().item(), 6) for p in model.parameters()]


TRUTH = Truth(values=True)
