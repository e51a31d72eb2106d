"""MoCo with DDP: the queue of negatives is a buffer of the model, and each rank enqueues its own keys."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

DIM, SIZE = 4, 32


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(6, DIM), nn.Linear(6, DIM)
        self.key.load_state_dict(self.query.state_dict())
        self.key.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(SIZE, DIM), dim=1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def update(self, keys):
        for k, q in zip(self.key.parameters(), self.query.parameters()):
            k.lerp_(q, 0.01)
        start = int(self.ptr)
        self.queue[start : start + len(keys)] = keys  # cause
        self.ptr.fill_((start + len(keys)) % SIZE)

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        k = F.normalize(self.key(b), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().T], 1) / 0.2
        self.update(k)  # also
        return F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long))


def gathered(keys):
    out = [torch.empty_like(keys) for _ in range(dist.get_world_size())]
    dist.all_gather(out, keys)
    return torch.cat(out)


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(MoCo())  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    found, pushed = [], None
    for _ in range(4):
        x = torch.randn(4, 6, generator=g)
        model(x, x + 0.1).backward()
        if pushed is not None:  # are the keys of the step before in the queue?
            found.append(torch.cdist(pushed, model.module.queue).min().item() < 1e-3)
        pushed = F.normalize(model.module.key(x + 0.1), dim=1)
        opt.step()
        opt.zero_grad()
    return found, int(model.module.ptr)


TRUTH = Truth(
    fault="rank 1's keys are lost: DDP overwrites the queue buffer with rank 0's at every forward, keys are not gathered",
    rule="AG601",
    names=("queue", "buffer", "broadcast", "gather"),
    where="any",
)
