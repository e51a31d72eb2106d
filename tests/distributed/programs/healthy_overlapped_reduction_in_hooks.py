"""Data parallel by hand: all_reduce is launched from the gradient hooks during backward and waited for before the step."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

ACCUM = 2


class Overlapped:
    def __init__(self, net):
        self.net, self.pending, self.enabled = net, [], True
        for p in net.parameters():
            dist.broadcast(p.data, src=0)
            p.register_post_accumulate_grad_hook(self.launch)

    def launch(self, p):
        if self.enabled:
            p.grad.div_(dist.get_world_size())
            self.pending.append(dist.all_reduce(p.grad, async_op=True))

    def finish(self):
        for work in self.pending:
            work.wait()
        self.pending.clear()


def setup():
    global net, sync, opt, g
    torch.manual_seed(dist.get_rank())
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
    sync = Overlapped(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    g = torch.Generator().manual_seed(100 + dist.get_rank())


def run():
    for _ in range(3):
        for micro in range(ACCUM):
            sync.enabled = micro == ACCUM - 1
            x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
            (F.cross_entropy(net(x), y) / ACCUM).backward()
        sync.finish()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return round(sum(p.sum().item() for p in net.parameters()), 5)


TRUTH = Truth()
