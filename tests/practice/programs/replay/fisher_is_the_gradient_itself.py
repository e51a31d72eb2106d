"""EWC: the first batch's gradient is kept as the Fisher estimate without a copy, and zero_grad and backward write to it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(24, 2) for _ in range(2))

    def forward(self, x, task):
        return self.heads[task](self.body(x))


class EWC:
    def __init__(self, net, batches, task):
        self.anchor = {n: p.detach().clone() for n, p in net.named_parameters()}
        self.importance = {}
        for x, y in batches:
            net.zero_grad(set_to_none=False)
            F.cross_entropy(net(x, task), y).backward()
            for n, p in net.named_parameters():
                if p.grad is None:
                    continue
                if n not in self.importance:
                    self.importance[n] = p.grad.abs_()  # cause
                else:
                    self.importance[n] += p.grad.abs()
        for n in self.importance:
            self.importance[n] /= len(batches)

    def penalty(self, net):
        named = dict(net.named_parameters())
        return sum((w * (named[n] - self.anchor[n]) ** 2).sum() for n, w in self.importance.items())


def task_batches(n=3):
    rule = torch.randn(6)
    return [(x, (x @ rule > 0).long()) for x in torch.randn(n, 8, 6)]


def fit(net, batches, task, ewc=None, epochs=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(epochs):
        for x, y in batches:
            loss = F.cross_entropy(net(x, task), y)
            if ewc is not None:
                loss = loss + 100 * ewc.penalty(net)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()  # symptom
            optimizer.step()


def run():
    torch.manual_seed(0)
    net, first, second = Net(), task_batches(), task_batches()
    fit(net, first, 0)
    ewc = EWC(net, first, 0)
    fit(net, second, 1, ewc)
    return net


TRUTH = Truth(
    fault="the importance is the gradient's own memory, which zero_grad and backward write to",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("importance",),
    repair=("self.importance[n] = p.grad.detach().abs()",),
)
