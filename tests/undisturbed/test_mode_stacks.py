"""torch's stacks of modes: whatever the program enters and leaves, and when, they are what they would be without us."""

from __future__ import annotations

import sys
import threading
from contextlib import nullcontext, suppress

import pytest
import torch
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode, _get_current_function_mode, _get_current_function_mode_stack
from torch.utils._debug_mode import DebugMode
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

import autograd_inspector
from autograd_inspector.capture.session import TAKEN_OFF

pytestmark = pytest.mark.undisturbed


class Told(TorchFunctionMode):
    """Writes down its calls, the function and line that made each, and the modes that are on."""

    def __init__(self, log, name):
        super().__init__()
        self.log, self.name = log, name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        caller = sys._getframe(1)
        self.log.append((self.name, func.__name__, caller.f_code.co_name, caller.f_lineno, kinds()))
        return func(*args, **(kwargs or {}))

    def __repr__(self):
        return self.name


class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def kinds():
    """The modes that a program finds: torch's function modes, then the dispatch modes."""
    functions = [repr(mode) if isinstance(mode, Told) else type(mode) for mode in _get_current_function_mode_stack()]
    innermost = _get_current_function_mode()
    assert (innermost is None) == (not functions)
    return functions, [type(mode) for mode in _get_current_dispatch_mode_stack()]


def work(log):
    """What a program sees of a few calls: the modes, and where its tensors went."""
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    log.append((kinds(), y.device.type, x.grad is None, torch.get_default_device().type))


def left_inside(block, log):
    """A notebook: one cell enters a mode, an inspected one leaves it."""
    mode = Told(log, "a")
    mode.__enter__()
    with block():
        work(log)
        mode.__exit__(None, None, None)
        work(log)
    work(log)


def left_after(block, log):
    """An inspected cell enters, a later one leaves."""
    mode = Told(log, "a")
    with block():
        mode.__enter__()
        work(log)
    work(log)
    mode.__exit__(None, None, None)
    work(log)


def crossed(block, log):
    """Two modes that overlap with the block and with each other: torch takes the topmost one, whoever leaves."""
    one, two = Told(log, "a"), Told(log, "b")
    one.__enter__()
    with block():
        two.__enter__()
        work(log)
        one.__exit__(None, None, None)
        work(log)
    two.__exit__(None, None, None)
    work(log)


def left_twice(block, log):
    """What torch refuses it still refuses."""
    mode = Told(log, "a")
    with block():
        with mode:
            work(log)
        with pytest.raises(RuntimeError, match="empty mode stack"):
            mode.__exit__(None, None, None)
        work(log)
    work(log)


def entered_again(block, log):
    """A mode that is on already, and one that turns itself on for what it calls."""

    class Again(Told):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.log.append(("again", func.__name__, kinds()))
            with self if len(self.log) % 2 else nullcontext():
                return torch._C._disabled_torch_function_impl(func, types, args, kwargs or {})

    mode = Told(log, "a")
    with mode, block(), mode:
        work(log)
    with block(), Again(log, "again"):
        torch.ones(2) * 2
    work(log)


def default_device(block, log):
    """``set_default_device`` keeps its mode at the very bottom of the stack, over the block's end and beginning."""
    torch.set_default_device("meta")
    with block():
        work(log)
        torch.set_default_device(None)
        work(log)
    work(log)
    with block():
        torch.set_default_device("meta")
        work(log)
    work(log)
    torch.set_default_device(None)
    work(log)


def devices(block, log):
    """Device contexts around the block, in it, and in each other."""
    mode = Told(log, "a")
    with torch.device("meta"), mode:
        with block():
            work(log)
            with torch.device("cpu"):
                work(log)
                with torch.device("meta"):
                    work(log)
            work(log)
        work(log)
    with block():
        with mode, torch.device("meta"):
            work(log)
        work(log)
    work(log)


def devices_that_cross(block, log):
    """A default device that is set within a device context, which then takes that one off the stack."""
    with block():
        with torch.device("meta"):
            torch.set_default_device("meta")
            work(log)
        work(log)
    work(log)
    torch.set_default_device(None)  # Puts back what it had found.
    work(log)
    with suppress(RuntimeError):  # On torch 2.10 nothing is left to take off.
        torch.device("meta").__exit__(None, None, None)
    work(log)


def generators(block, log):
    """Generators that hold a mode: begun in the block and closed after it, and the other way round."""

    def holding(name):
        with Told(log, name):
            yield

    with block():
        first = holding("a")
        next(first)
        work(log)
    work(log)
    with block():
        first.close()
        work(log)
    work(log)


def debug_modes(block, log):
    """A mode on both stacks, which leaves them through functions of its own."""
    mode = DebugMode(record_torchfunction=True)
    mode.__enter__()
    with block():
        work(log)
        mode.__exit__(None, None, None)
        work(log)
    other = DebugMode(record_torchfunction=True)
    with block():
        other.__enter__()
        work(log)
    work(log)
    other.__exit__(None, None, None)
    work(log)
    log.append((mode.debug_string(), other.debug_string()))


def dispatch_modes(block, log):
    """Modes below autograd."""
    operators, fake = Operators(), FakeTensorMode()
    operators.__enter__()
    with block():
        fake.__enter__()
        log.append(kinds())
        fake.__exit__(None, None, None)
        work(log)
        operators.__exit__(None, None, None)
        work(log)
    work(log)


def switched_off(block, log):
    """Blocks in which torch calls no mode, or every mode."""
    with Told(log, "a"), block():
        with torch._C.DisableTorchFunction():
            work(log)
            with torch._C._EnableTorchFunction():
                work(log)
        with torch._C.DisableTorchFunctionSubclass():
            work(log)
    work(log)


def threads(block, log):
    """Each thread has modes of its own."""

    def elsewhere():
        mode = Told(log, "a")
        mode.__enter__()
        work(log)
        mode.__exit__(None, None, None)
        work(log)

    with block():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        work(log)
    work(log)


def entered_by_a_callback(block, log):
    """A mode that a callback of torch's enters and nobody leaves lies beneath the mode around the call."""
    outer, inner = Told(log, "a"), Told([], "b")
    with block():
        outer.__enter__()
        torch.ones(1).apply_(lambda x: inner.__enter__() and x)
        work(log)
        outer.__exit__(None, None, None)
        work(log)
        inner.__exit__(None, None, None)
        work(log)
    work(log)


PROGRAMS = (
    left_inside,
    left_after,
    crossed,
    left_twice,
    entered_again,
    default_device,
    devices,
    devices_that_cross,
    generators,
    debug_modes,
    dispatch_modes,
    switched_off,
    threads,
    entered_by_a_callback,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_modes_and_what_they_see_are_as_without_us(program):
    """Each mode gets the same calls from the same lines, finds the same modes, and leaves the same ones behind."""
    plain, seen, captures = [], [], []

    class Inspected:
        def __enter__(self):
            captures.append(autograd_inspector.inspect())
            captures[-1].__enter__()

        def __exit__(self, *error):
            captures[-1].__exit__(*error)

    program(nullcontext, plain)
    assert kinds() == ([], [])
    program(Inspected, seen)
    assert seen == plain
    assert kinds() == ([], [])
    assert torch._C._len_torch_function_stack() == 0
    assert all(not captured.report.capture.stopped for captured in captures)


def names_after(leave):
    """The ops of a block that calls ``leave()`` first."""
    with autograd_inspector.inspect() as inspection:
        leave()
        (torch.ones(2) * 2).exp()
    return [op.name for op in inspection.report.capture.ops]


def test_recording_goes_on_when_a_mode_of_before_is_left():
    """What runs after the mode is recorded as before."""
    mode, device, debug = Told([], "a"), torch.device("meta"), DebugMode(record_torchfunction=True)
    for each in (mode, device, debug):
        each.__enter__()
        assert names_after(lambda each=each: each.__exit__(None, None, None)) == ["ones", "mul", "exp"]


def test_a_recorder_that_the_program_takes_off_is_missed():
    """Who empties torch's stack by its C functions takes ours, too: the report says that the rest is missing."""
    with autograd_inspector.inspect() as inspection:
        torch.ones(2)
        torch._C._pop_torch_function_stack()
        torch.ones(2)
    assert len(inspection.report.capture.ops) == 1
    assert inspection.report.capture.notes == (TAKEN_OFF,)


def line_of(capture, name):
    """The line of the program that the one op of that name is placed at."""
    (op,) = [op for op in capture.ops if op.name == name]
    return next(location.source for location in capture.sites[op.site].frames)


class Meddling(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result.detach() if func is torch.exp else result


@pytest.mark.parametrize("around", [True, False])
def test_a_call_that_a_mode_hands_on_is_placed_where_the_program_made_it(around):
    """And one that the mode makes on its own, in the mode; whether the mode is around the block or inside it."""
    mode, quiet = Meddling(), nullcontext()
    x = torch.ones(2, requires_grad=True)
    with mode if around else quiet, autograd_inspector.inspect() as inspection, quiet if around else mode:
        torch.exp(x)
    assert line_of(inspection.report.capture, "exp") == "torch.exp(x)"
    assert "result.detach()" in line_of(inspection.report.capture, "detach")


@pytest.mark.parametrize("inspected", [False, True])
def test_a_default_device_is_set_where_torch_has_taken_its_mode_off(inspected):
    """Inside backward, where a reentrant checkpoint recomputes, torch finds no mode that it does not expect."""
    weight = torch.ones(2, requires_grad=True)

    def layer(x):
        torch.set_default_device("cpu")
        return x * 2

    try:
        with autograd_inspector.inspect() if inspected else nullcontext() as inspection:
            torch.utils.checkpoint.checkpoint(layer, weight * 3, use_reentrant=True).sum().backward()
            torch.set_default_device(None)
            after = (weight * 2).sum()
    finally:
        torch.set_default_device(None)
    assert weight.grad.tolist() == [6.0, 6.0]
    assert after.item() == 4.0
    if inspected:
        assert TAKEN_OFF not in inspection.report.capture.notes
        assert inspection.report.capture.ops[-1].name == "sum"
