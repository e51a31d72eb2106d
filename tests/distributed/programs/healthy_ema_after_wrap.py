"""The teacher is copied from the wrapped weights."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


def setup():
    global student, teacher, opt
    torch.manual_seed(dist.get_rank())
    student = DDP(net())
    teacher = copy.deepcopy(student.module).requires_grad_(False)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)


def run():
    for x, _ in batches():
        opt.zero_grad()
        with torch.no_grad():
            target = teacher(x).softmax(-1)
        F.cross_entropy(student(x + 0.1), target).backward()
        opt.step()
        with torch.no_grad():
            for t, s in zip(teacher.parameters(), student.module.parameters()):
                t.lerp_(s, 0.01)


TRUTH = Truth(values=True)
