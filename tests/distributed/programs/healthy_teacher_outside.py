"""A frozen teacher and an EMA copy stand outside of the wrapper."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global student, teacher, ema, opt
    torch.manual_seed(0)
    student = DDP(nn.Linear(4, 3))
    teacher = nn.Linear(4, 3).requires_grad_(False)
    ema = copy.deepcopy(student.module).requires_grad_(False)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(3, 4)
        loss = F.kl_div(student(x).log_softmax(1), teacher(x).softmax(1), reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for a, b in zip(ema.parameters(), student.module.parameters(), strict=True):
                    a.lerp_(b, 0.1)


TRUTH = Truth()
