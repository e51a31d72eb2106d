"""Deep mutual learning: the peer's probabilities are not detached, each loss also pulls the peer toward its own net."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Peer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        return self.head(self.body(x))


def mutual_losses(logits, y):
    losses = []
    for i, out in enumerate(logits):
        ce = F.cross_entropy(out, y)
        kl = 0.0
        for j, peer in enumerate(logits):
            if j != i:
                target = F.softmax(peer, dim=1)  # cause
                kl = kl + F.kl_div(F.log_softmax(out, dim=1), target, reduction="batchmean")
        losses.append(ce + kl / (len(logits) - 1))
    return losses


def run():
    torch.manual_seed(0)
    nets = nn.ModuleList([Peer(16), Peer(8)])
    opts = [torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9) for net in nets]
    scheds = [torch.optim.lr_scheduler.StepLR(o, 2, 0.1) for o in opts]
    for epoch in range(2):
        x, y = torch.randn(8, 10), torch.randint(0, 4, (8,))
        losses = mutual_losses([net(x) for net in nets], y)
        for opt in opts:
            opt.zero_grad()
        sum(losses).backward()
        for opt, sched in zip(opts, scheds):
            opt.step()
            sched.step()
        print(epoch, [round(v.item(), 3) for v in losses])
    return nets


def verify(nets):
    x, y = torch.randn(8, 10), torch.randint(0, 4, (8,))
    losses = mutual_losses([net(x) for net in nets], y)
    (grad,) = torch.autograd.grad(losses[0], nets[1].head.weight, allow_unused=True)
    assert grad is not None and grad.abs().sum() > 0  # the first net's loss trains the second


TRUTH = Truth(
    fault="the peer's soft targets are not detached",
    names=("target",),
    repair=("target = F.softmax(peer.detach(), dim=1)",),
)
