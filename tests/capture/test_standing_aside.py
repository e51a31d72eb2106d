"""The recorder is no part of a step in which nothing is recorded, and is there again behind it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import autograd_inspector


class Counting(torch.optim.SGD):
    """Notes how many function modes are on inside its step, and may raise there."""

    def __init__(self, parameters, *, raises=False):
        super().__init__(parameters, lr=0.1)
        self.met = []
        self.raises = raises

    def step(self, closure=None):
        """One step, seen from the inside."""
        self.met.append(torch._C._len_torch_function_stack())
        if self.raises:
            raise ValueError("no step")
        if closure is not None:
            closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                with torch.no_grad():
                    parameter.sub_(parameter.grad)


def names(inspection):
    """The ops of a capture."""
    return [op.name for op in inspection.report.capture.ops]


def trained(optimizer, weight, *steps):
    """A capture of a backward, so many steps with these arguments, and an op behind them."""
    with autograd_inspector.inspect() as inspection:
        weight.pow(2).sum().backward()
        for arguments in steps:
            optimizer.step(*arguments)
        weight.cos()
    return inspection


def test_off_inside_a_step_and_on_behind_it():
    """The recorder is not on torch's stack inside a step; what follows is recorded as ever."""
    weight = nn.Parameter(torch.ones(2))
    optimizer = Counting([weight])
    inspection = trained(optimizer, weight, (), ())
    assert optimizer.met == [0, 0]
    assert names(inspection) == ["pow", "sum", "Counting.step", "Counting.step", "cos"]
    assert torch._C._len_torch_function_stack() == 0


def test_on_where_a_closure_runs():
    """A step that calls the program back is recorded: the closure's ops are there."""
    weight = nn.Parameter(torch.ones(2))
    optimizer = Counting([weight])

    def closure():
        return weight.sin()

    inspection = trained(optimizer, weight, (closure,))
    assert optimizer.met == [1]
    assert "sin" in names(inspection)


def test_on_again_when_a_step_raised():
    """The very next op behind a step that raised is recorded, and nothing is said to be missing."""
    weight = nn.Parameter(torch.ones(2))
    optimizer = Counting([weight], raises=True)
    with autograd_inspector.inspect() as inspection:
        weight.pow(2).sum().backward()
        with pytest.raises(ValueError, match="no step"):
            optimizer.step()
        assert torch._C._len_torch_function_stack() == 1
        weight.cos()
    assert optimizer.met == [0]
    assert names(inspection)[-1] == "cos"
    assert not any("missing" in note for note in inspection.report.capture.notes)


def test_a_step_that_leaves_the_block_by_an_exception():
    """The block ends in a step that raised: nothing of ours is left on the stack, and no note is made of it."""
    weight = nn.Parameter(torch.ones(2))
    optimizer = Counting([weight], raises=True)
    weight.pow(2).sum().backward()
    with pytest.raises(ValueError, match="no step"), autograd_inspector.inspect() as inspection:
        optimizer.step()
    assert torch._C._len_torch_function_stack() == 0
    assert not any("missing" in note for note in inspection.report.capture.notes)


def test_the_program_leaves_a_mode_of_its_own_inside_a_step():
    """A mode that is on when a step begins, and is left in it, is left; the recorder is there again."""

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    weight, mode = nn.Parameter(torch.ones(2)), Mode()
    optimizer = Counting([weight])
    optimizer.register_step_pre_hook(lambda *_: mode.__exit__(None, None, None))
    with autograd_inspector.inspect() as inspection:
        weight.pow(2).sum().backward()
        mode.__enter__()
        optimizer.step()
        assert torch._C._len_torch_function_stack() == 1
        weight.cos()
    assert optimizer.met == [0]
    assert names(inspection)[-1] == "cos"


def test_a_step_in_a_hook_of_backward():
    """A step that a hook of backward makes leaves the recorder where it was: later hooks are recorded."""
    weight, other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = Counting([weight])

    def hook(_):
        optimizer.step()
        other.detach().cos()

    weight.register_post_accumulate_grad_hook(hook)
    with autograd_inspector.inspect() as inspection:
        (weight * other).sum().backward()
        weight.sin()
    assert optimizer.met == [0]
    assert names(inspection) == ["mul", "sum", "Counting.step", "detach", "cos", "sin"]
