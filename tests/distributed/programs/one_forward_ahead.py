"""Two asynchronous pipeline stages: the first one is a forward ahead, each one steps after every micro-batch."""

from collections import deque

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

MICRO, WIDTH, SIZE = 5, 8, 4


def build(rank):
    torch.manual_seed(rank)
    if rank == 0:
        return nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, WIDTH), nn.Tanh())
    return nn.Sequential(nn.Linear(WIDTH, 12), nn.GELU(), nn.Linear(12, 3))


class FirstStage:
    def __init__(self, stage, opt):
        self.stage, self.opt = stage, opt
        self.flying = deque()

    def forward(self, x):
        act = self.stage(x)
        self.flying.append((act, dist.isend(act.detach(), dst=1)))

    def backward(self):
        act, sending = self.flying.popleft()
        sending.wait()
        grad = torch.empty_like(act)
        dist.recv(grad, src=1)
        act.backward(grad)  # also

    def update(self):
        self.opt.step()  # cause
        self.opt.zero_grad()

    def train(self, batches):
        self.forward(batches[0])
        for x in batches[1:]:
            self.forward(x)
            self.backward()
            self.update()
        self.backward()
        self.update()


class LastStage:
    def __init__(self, stage, opt):
        self.stage, self.opt = stage, opt

    def train(self, labels):
        for y in labels:
            act = torch.empty(SIZE, WIDTH)
            dist.recv(act, src=0)
            act.requires_grad_(True)
            F.cross_entropy(self.stage(act), y).backward()
            dist.send(act.grad, dst=0)
            self.opt.step()
            self.opt.zero_grad()


def run():
    rank = dist.get_rank()
    stage = build(rank)
    opt = torch.optim.SGD(stage.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(6)
    worker = FirstStage(stage, opt) if rank == 0 else LastStage(stage, opt)
    for _ in range(2):
        x = torch.randn(MICRO * SIZE, 6, generator=g)
        y = torch.randint(0, 3, (MICRO * SIZE,), generator=g)
        worker.train(x.split(SIZE) if rank == 0 else y.split(SIZE))
    return [round(p.norm().item(), 5) for p in stage.parameters()]


TRUTH = Truth(
    fault="the stage steps while a micro-batch is in flight: its backward needs the weights of its forward, which no one kept",
    rule="AG201|AG603",
    names=("step",),
    where="any",
    raises="modified by an inplace operation",
)
