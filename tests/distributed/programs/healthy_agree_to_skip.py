"""Loss scaling by hand; all ranks agree whether a step is taken."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth


class Scaler:
    def __init__(self, scale=1024.0):
        self.scale, self.streak = scale, 0

    def step(self, opt, params):
        bad = torch.zeros(1)
        for p in params:
            if not torch.isfinite(p.grad).all():
                bad.fill_(1)
        dist.all_reduce(bad, dist.ReduceOp.MAX)
        if bad.item():
            self.scale, self.streak = self.scale / 2, 0
            return False
        for p in params:
            p.grad /= self.scale
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()
        self.streak += 1
        if self.streak == 2:
            self.scale, self.streak = self.scale * 2, 0
        return True


def setup():
    global net, opt, scaler, params
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    params = list(net.parameters())
    opt = torch.optim.Adam(params, lr=1e-2)
    scaler = Scaler()
    torch.manual_seed(dist.get_rank())


def run():
    for step in range(6):
        x = torch.randn(8, 4)
        y = x.sum(1, keepdim=True)
        if step == 3 and dist.get_rank() == 1:
            y = y * float("inf")
        loss = nn.functional.l1_loss(net(x), y) if step != 3 else (net(x) * y).mean()
        opt.zero_grad()
        (loss * scaler.scale).backward()
        scaler.step(opt, params)


TRUTH = Truth()
