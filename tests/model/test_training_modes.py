"""Which step trains what in eval mode, and who had put it there."""

import torch
from torch import nn

from autograd_inspector import inspect
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.training_modes import trained_in_eval, within

X = torch.ones(4, 3)


def net_with_dropout():
    return nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 1))


def found(program):
    with inspect() as inspection:
        program()
    return list(trained_in_eval(Analysis(inspection.report.capture)))


def step(net, optimizer):
    optimizer.zero_grad()
    net(X).sum().backward()
    optimizer.step()


def test_the_switch_and_what_is_trained_after_it():
    """The switch, the look that it was made for, the first call that is trained, and what computes otherwise in it."""

    def program():
        net = net_with_dropout()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        step(net, optimizer)
        net.eval()
        with torch.no_grad():
            net(X)
        step(net, optimizer)
        step(net, optimizer)

    (one,) = found(program)
    assert (one.switch.training, one.switch.looks, one.call.nth, one.looked.nth) == (False, True, 3, 2)
    assert [call.path for call in one.otherwise] == ["1"]
    assert one.call.at < one.step.at


def test_a_look_that_records_gradients():
    """One whose gradients no step uses is a look as well."""

    def program():
        net = net_with_dropout()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        step(net, optimizer)
        net.eval()
        torch.autograd.grad(net(X).sum(), list(net.parameters()))
        step(net, optimizer)

    (one,) = found(program)
    assert not one.switch.looks
    assert one.looked.nth == 2


def test_gradients_of_the_last_backward_before_the_step():
    """An attack in eval mode before it is not what the step learns from."""

    def program():
        net = net_with_dropout()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            net.eval()
            net(X).sum().backward()
            net.train()
            step(net, optimizer)

    assert found(program) == []


def test_places():
    """A module is within itself, within what contains it, and within its model."""
    assert within("a.b", "a")
    assert within("a", "a")
    assert within("a", "")
    assert not within("ab", "a")
    assert not within("", "a")
