"""An interrupt at any instant at which the inspector reads a tensor, or a gradient on its way through a graph."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import autograd_inspector
from autograd_inspector.capture.graph_walk.verdicts import verify
from autograd_inspector.capture.observers.backward.node_hooks import NodeHooks
from autograd_inspector.capture.recording.recording import new_recording
from autograd_inspector.capture.tensors.attributes import device_of, nbytes_of, placed, shape_of, version_of
from autograd_inspector.capture.tensors.reading import any_nonzero, norm, range_of, sound
from autograd_inspector.capture.torch_private import dispatch
from autograd_inspector.capture.undisturbed.guard import Guard
from tests.undisturbed.interrupting import Interrupted, Interrupts, instants_of
from tests.undisturbed.test_restored import state_of_torch

pytestmark = pytest.mark.undisturbed


class Plain(torch.Tensor):
    """A subclass."""


class Wrapper(torch.Tensor):
    """One that computes in Python."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*(arg.inner if isinstance(arg, Wrapper) else arg for arg in args), **(kwargs or {}))


class Noting(TorchDispatchMode):
    """A mode of the program's."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def switches():
    """What a read switches for its own time."""
    keys = (torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set())
    return [key.raw_repr() for key in keys], state_of_torch()


def saved():
    x = torch.ones(3, requires_grad=True)
    return x.exp().grad_fn


TENSORS = {
    "plain": lambda: torch.ones(2, 3),
    "subclass": lambda: torch.ones(2, 3).as_subclass(Plain),
    "wrapper": lambda: Wrapper(torch.ones(2, 3)),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "complex": lambda: torch.ones(2, dtype=torch.complex64),
}


def nothing():
    """CPython looks for signals where a function begins: those of the last instants strike here."""


def read_all(tensor, node):
    for read in (shape_of, device_of, nbytes_of, placed, version_of, sound, any_nonzero, norm):
        read(tensor)
    range_of(0, tensor)
    verify(node, "result")
    nothing()


@pytest.mark.parametrize("possible", [True, False], ids=["", "without the private names"])
@pytest.mark.parametrize("kind", TENSORS)
def test_all_is_switched_back_after_a_read(kind, possible, monkeypatch):
    """Also while the exception is still there, with its traceback and all that is in it."""
    monkeypatch.setattr(dispatch, "_POSSIBLE", possible)
    tensor, node, mode = TENSORS[kind](), saved(), Noting()
    read_all(tensor, node)
    with mode:
        before, struck = switches(), 0
        for instant in instants_of(lambda: read_all(tensor, node)):
            kept = None
            with Interrupts(instant) as interrupts:
                try:
                    read_all(tensor, node)
                except Interrupted as error:
                    kept = error
            assert [kept] == (interrupts.struck or [None]), instant
            assert switches() == before, instant
            struck += kept is not None
    assert struck > 50


class TimedOut(TimeoutError):
    """An interrupt that is an Exception."""


@pytest.mark.parametrize("kind", TENSORS)
def test_a_read_does_not_take_an_interrupt_for_a_failure(kind, monkeypatch):
    """What cannot be read is unknown; what a signal handler raises is the program's."""
    monkeypatch.setattr("tests.undisturbed.interrupting.Interrupted", TimedOut)
    tensor, node = TENSORS[kind](), saved()
    read_all(tensor, node)
    for instant in instants_of(lambda: read_all(tensor, node)):
        raised = []
        with Interrupts(instant) as interrupts:
            try:
                read_all(tensor, node)
            except TimedOut as error:
                raised.append(error)
        assert raised == interrupts.struck, instant


def test_the_hooks_on_nodes_are_gone():
    """Wherever putting or removing them is interrupted; what torch was about to put does nothing."""
    looked = []
    guard = Guard(new_recording(None, values=True), pytest.fail)

    def watched(hooks, node):
        hooks.put(node, lambda *_: looked.append(1))
        hooks.put(node, lambda *_: looked.append(1))
        hooks.remove()

    y = torch.ones(2, requires_grad=True) * 2
    held = y.grad_fn.register_hook(lambda *_: None).hooks_dict_ref()
    struck = 0
    for instant in instants_of(lambda: watched(NodeHooks(guard), y.grad_fn)):
        hooks = NodeHooks(guard)
        with Interrupts(instant) as interrupts:
            try:
                watched(hooks, y.grad_fn)
            except Interrupted:
                hooks.remove()
        struck += len(interrupts.struck)
        assert len(held) == 1, instant
    assert struck > 5
    y.sum().backward()
    assert not looked


def test_an_interrupt_at_any_instant_of_a_backward_whose_values_are_read():
    """The same backward then goes through the same graph with no hook of ours on it, and gives the same gradients."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.Linear(3, 1))
    loss = model(torch.ones(2, 3)).sum()
    expected = [g.clone() for g in torch.autograd.grad(loss, model.parameters(), retain_graph=True)]

    def block():
        with autograd_inspector.inspect(values=True):
            loss.backward(retain_graph=True)

    block()
    before = state_of_torch()
    instants = [
        i
        for i in instants_of(block)
        if "/graph_walk/" in i.code.co_filename
        or "/observers/backward/" in i.code.co_filename
        or "/calls/" in str(i.code)
    ]
    for instant in instants[:: max(len(instants) // 150, 1)]:
        raised = []
        with Interrupts(instant) as interrupts:
            try:
                block()
            except Interrupted as error:
                raised.append(error)
        assert raised == interrupts.struck, instant
        assert state_of_torch() == before, instant
        again = torch.autograd.grad(loss, model.parameters(), retain_graph=True)
        assert all(map(torch.equal, again, expected)), instant
