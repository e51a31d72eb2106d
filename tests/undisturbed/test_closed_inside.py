"""A capture that ends inside a call of torch: when the call is over, torch is as if there had been none."""

import sys

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.session import Session, current
from autograd_inspector.capture.torch_private.modes import function_modes
from tests.undisturbed.test_restored import state_of_torch

pytestmark = pytest.mark.undisturbed


@pytest.fixture(autouse=True)
def restored():
    """Before and after each of them."""
    before = state_of_torch()
    yield
    still_open = current()
    if still_open is not None:
        still_open.abandon()
    assert function_modes() == []
    assert sys.getrecursionlimit() == before["recursion limit"]
    assert state_of_torch() == before


def opened(**options):
    return Session(**options).start(held=lambda: True)


def backward(hook):
    """Call it inside the engine."""
    leaf = torch.ones(2, requires_grad=True)

    def called(_):
        with torch.enable_grad():
            hook()

    leaf.register_hook(called)
    (leaf * 2).sum().backward()
    return leaf.grad


def own_capture():
    with autograd_inspector.inspect():
        torch.ones(2).exp()


def test_in_a_hook_of_backward():
    """The gradients come."""
    session = opened()
    assert torch.equal(backward(session.finish), torch.full((2,), 2.0))
    assert session.over


def test_in_a_backward_inside_a_backward():
    """Both go on without us."""
    session = opened()
    assert torch.equal(backward(lambda: backward(session.finish)), torch.full((2,), 2.0))
    assert session.over


def test_in_a_hook_that_raises():
    """After that, too."""
    session = opened()

    def hook():
        session.finish()
        raise ValueError

    with pytest.raises(ValueError):
        backward(hook)
    assert session.over


def test_one_that_gives_way_in_a_hook_of_backward():
    """To a capture that the program opens there."""
    session = opened(yields=True)
    backward(own_capture)
    assert session.over


class Encoder(nn.TransformerEncoderLayer):
    def forward(self, *args, **kwargs):
        own_capture()
        return super().forward(*args, **kwargs)


def test_one_that_gives_way_in_a_call_that_is_one_op():
    """The fast path of nn.Transformer is not observed inside; the recorder stays away after it."""
    model = Encoder(4, 1, 8, batch_first=True).eval()
    session = opened(yields=True)
    with torch.no_grad():
        model(torch.ones(1, 2, 4))
    assert session.over
