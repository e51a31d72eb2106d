"""Tables of the program's own classes, and what it puts where torch has something else: read past what it computes."""

import pytest
import torch
from torch import nn

import autograd_inspector

from .test_program_classes import inspected

pytestmark = pytest.mark.undisturbed

METHODS = ("__getitem__", "__contains__", "__iter__", "__len__", "get", "items", "keys", "values")


def noting(base, into):
    """A class of containers that notes each question."""

    def method(name):
        def asked(self, *args):
            into.append(name)
            return getattr(base, name)(self, *args)

        return asked

    return type(f"Noting{base.__name__}", (base,), {name: method(name) for name in METHODS if hasattr(base, name)})


def as_without(program):
    """What a program notes with the inspector is what it notes without."""
    plainly, inside = [], []
    program(plainly)
    inspected(lambda: program(inside))
    assert inside == plainly
    assert plainly


def test_the_tables_of_a_module_are_asked_by_torch_alone():
    """Those of a library compute what they hold: of parameters that are elsewhere, say."""

    def program(asked):
        table = noting(dict, asked)
        net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        for module in list(net.modules()):
            module._parameters, module._buffers = table(module._parameters), table(module._buffers)
            module._modules = table(module._modules)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        asked.clear()
        net(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        net.eval()
        net(torch.ones(3, 2))
        net.load_state_dict(net.state_dict())

    as_without(program)


def test_groups_and_their_lists_are_asked_by_torch_alone():
    """The groups, the lists in which they and their parameters are, and the state."""

    def program(asked):
        table, row = noting(dict, asked), noting(list, asked)
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.Adam([weight], 0.1)
        (group,) = optimizer.param_groups
        optimizer.param_groups = row([table({**group, "params": row([weight])})])
        optimizer.state = table()
        optimizer.state[weight] = table()
        asked.clear()
        for _ in range(2):
            optimizer.zero_grad()
            (weight * 2).sum().backward()
            optimizer.step()
        optimizer.state_dict()

    as_without(program)


def test_what_can_be_gone_through_once_is_left_to_the_program():
    """Of an iterator in the place of a group's parameters nothing is taken."""

    def program():
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight], 0.1)
        (weight * 2).sum().backward()
        optimizer.param_groups[0]["params"] = iter([weight])
        optimizer.step()
        return weight.tolist()

    expected, ended = program(), []
    inspected(lambda: ended.append(program()))
    assert ended == [expected] == [pytest.approx([0.8, 0.8])]


def test_a_rate_is_read_past_its_class():
    """A number whose class tells another one, or none."""

    class Rate(float):
        def __float__(self):
            raise AssertionError

        __eq__ = __bool__ = __repr__ = __gt__ = __float__
        __hash__ = None

    def program():
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight], 0.1)
        optimizer.param_groups[0]["lr"] = Rate(0.1)
        (weight * 2).sum().backward()
        optimizer.step()

    capture = inspected(program)
    assert capture.steps[0].rates == (0.1,)


def test_a_module_of_a_class_may_be_anything():
    """A number where its name should be: of a module, an optimizer, a custom Function."""

    class Net(nn.Linear):
        __module__ = 5

    class Stepping(torch.optim.SGD):
        __module__ = None

    class Doubling(torch.autograd.Function):
        __module__ = 7

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    def program():
        net = Net(2, 2)
        optimizer = Stepping(net.parameters(), 0.1)
        Doubling.apply(net(torch.ones(1, 2))).sum().backward()
        optimizer.step()

    assert len(inspected(program).steps) == 1


class HidingError(Exception):
    """Will not tell through what it passed."""

    @property
    def __traceback__(self):
        raise AssertionError

    @__traceback__.setter
    def __traceback__(self, value):
        raise AssertionError

    __cause__ = __context__ = __traceback__


@pytest.mark.parametrize("leaves", [True, False], ids=["leaves the block", "stays inside"])
def test_an_exception_that_hides_its_traceback(leaves):
    """It comes out as the object that it is, from a module as from the block; torch's own modes put the one back."""
    error = HidingError("hidden")

    class Net(nn.Module):
        def forward(self, x):
            raise error

    def program():
        Net()(torch.ones(1))

    def caught():
        try:
            program()
        except HidingError as raised:
            return raised
        return None

    if not leaves:
        ended = []
        inspected(lambda: ended.append(caught()))
        assert ended[0] is error
        return
    ended = None
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            program()
    except HidingError as raised:
        ended = raised
    assert ended is error
    assert inspection.report.capture.stopped == ""
    assert inspection.report.capture.error == "HidingError: hidden"
