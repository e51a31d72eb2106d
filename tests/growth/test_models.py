"""Models that are made and used in turn: what is known of those before is not read again for each."""

import pytest
import torch
from torch import nn

import autograd_inspector

from .counting import lines, superlinear


def kept(count):
    """Each is kept in a list, with those before."""
    models = []
    for _ in range(count):
        model = nn.Linear(2, 2)
        models.append(model)
        model(torch.ones(1, 2))


def stepped(count):
    """Each has an optimizer."""
    models = {}
    for number in range(count):
        model = nn.Linear(2, 2)
        models[number] = (model, torch.optim.SGD(model.parameters(), lr=0.1))
        models[-number] = model
        model(torch.ones(1, 2))


def converted(count):
    """Each is converted before its first call and after it."""
    models = []
    for _ in range(count):
        models.append(nn.Linear(2, 2).double().float())
        models[-1](torch.ones(1, 2))
        models[-1].double()


def forgotten(count):
    """None is kept."""
    for _ in range(count):
        nn.Softmax(dim=-1)(torch.ones(1, 2))


def attributes(count):
    """All are attributes of an object that is no module."""

    class Agent:
        pass

    agent = Agent()
    for number in range(count):
        setattr(agent, f"net{number}", nn.Linear(2, 2))
        getattr(agent, f"net{number}")(torch.ones(1, 2))


def recording(program, count):
    with autograd_inspector.inspect():
        return lines(lambda: program(count))


def closing(program, count):
    inspection = autograd_inspector.inspect()
    inspection.__enter__()
    program(count)
    return lines(lambda: inspection.__exit__(None, None, None))


@pytest.mark.parametrize("program", [kept, stepped, converted, forgotten, attributes], ids=lambda each: each.__name__)
@pytest.mark.parametrize("part", [recording, closing], ids=lambda each: each.__name__)
def test_twice_the_models_take_twice_the_work(part, program):
    """Both to record and to report on."""
    part(program, 3)
    small, large = (part(program, count) for count in (60, 120))
    assert superlinear(small, large, 2, 1.3) == []
    assert large.total() < 2.2 * small.total()
