"""Mean teacher semi-supervised training under DDP."""

import copy

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def is_main():
    return dist.get_rank() == 0


class EMA:
    def __init__(self, net, decay):
        self.net = copy.deepcopy(net).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, net):
        for e, p in zip(self.net.parameters(), net.parameters()):
            e.lerp_(p, 1 - self.decay)  # also


def setup():
    global net, student, teacher, opt, log
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
    student = DDP(net)
    teacher = EMA(net, 0.5)
    opt = torch.optim.SGD(net.parameters(), lr=0.3)
    log = []
    torch.manual_seed(dist.get_rank() + 1)


def run():
    for step in range(5):
        x = torch.randn(8, 6)
        y = x[:, :3].argmax(1)
        soft = teacher.net(x + 0.1 * torch.randn_like(x)).softmax(-1)
        out = student(x)
        loss = nn.functional.cross_entropy(out, y) + nn.functional.cross_entropy(out, soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if is_main():
            log.append(loss.item())
        if is_main():  # cause
            teacher.update(net)


TRUTH = Truth(
    rule="AG601",
    fault="only rank 0 moves the teacher, yet all ranks take targets from theirs",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="gather",
)
