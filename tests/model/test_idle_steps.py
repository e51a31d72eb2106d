"""Which optimizers' steps move nothing, and why."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from autograd_inspector import inspect
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.idle_steps import at_zero, dropped_updates

X = torch.ones(4, 3)


class Dropping(torch.optim.Optimizer):
    """Computes new values and drops them."""

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            p = p - p.grad  # noqa: PLW2901


def stepped(optimizer, net, times, scheduler=None):
    for _ in range(times):
        net(X).sum().backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()


def analysed(program):
    with inspect() as inspection:
        program()
    return Analysis(inspection.report.capture)


def test_dropped_values_are_told_once():
    """With the last step, unless something writes the parameters after all."""

    def program(*, written):
        net = nn.Linear(3, 1)
        optimizer = Dropping(net.parameters(), {})
        stepped(optimizer, net, 4)
        if written:
            net.weight.data.zero_()

    ((event, step),) = dropped_updates(analysed(lambda: program(written=False)))
    assert len(event.tensors) == 2
    assert step.at > event.at
    assert list(dropped_updates(analysed(lambda: program(written=True)))) == []


def test_a_schedule_at_zero():
    """With what stepped it between the steps, and afterwards."""

    def program(*, each, factor=lambda step: 0.0):
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = LambdaLR(optimizer, factor)
        stepped(optimizer, net, 3, scheduler if each else None)
        scheduler.step()

    (found,) = at_zero(analysed(lambda: program(each=True)))
    assert (len(found.steps), len(found.schedulers), found.alone) == (3, 1, True)
    assert len(found.moved_on) >= 2
    (found,) = at_zero(analysed(lambda: program(each=False)))
    assert (len(found.moved_on), len(found.later)) == (0, 1)
    assert list(at_zero(analysed(lambda: program(each=True, factor=float)))) == []
