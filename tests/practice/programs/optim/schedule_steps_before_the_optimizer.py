"""A scheduler that steps before the optimizer: the first value of its schedule is skipped."""

import warnings

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(6, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
    rates = []
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(2, (8,))
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sched.step()  # cause
        rates.append(opt.param_groups[0]["lr"])
        opt.step()  # also
    return rates


def verify(rates):
    assert rates[:2] == [0.1, 0.05]  # two steps with 0.1 were wanted


TRUTH = Truth(fault="the scheduler steps before the optimizer", minor=True, repair=("opt.step()",))
