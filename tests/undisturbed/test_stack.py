"""What the program sees of the stack, and of torch's own functions and hooks, is what it would see without us."""

import sys
import traceback

import pytest
import torch
from torch import nn
from torch.nn.modules import module as module_hooks

import autograd_inspector

pytestmark = pytest.mark.undisturbed


def stack():
    """(file, line, function) of the frames below the test, outermost first."""
    frames, frame = [], sys._getframe(1)
    while frame is not None and frame.f_code is not seen_by.__code__:
        frames.insert(0, (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname))
        frame = frame.f_back
    return frames


def seen_by(program, *, inspected):
    """The stacks that a program notes."""
    noted = []
    if inspected:
        with autograd_inspector.inspect():
            program(noted)
    else:
        program(noted)
    return noted


class Looking(nn.Module):
    def __init__(self, noted):
        super().__init__()
        self.noted = noted

    def forward(self, x, *, scale=1):
        self.noted.append(stack())
        return x


def in_forward(noted):
    nn.Sequential(nn.Sequential(Looking(noted)), Looking(noted))(torch.ones(2))
    Looking(noted)(torch.ones(2), scale=3)


def in_forward_of_modules_with_hooks(noted):
    model = nn.Sequential(Looking(noted))
    model.register_forward_pre_hook(lambda *_: noted.append(stack()))
    model[0].register_forward_hook(lambda *_: noted.append(stack()))
    model(torch.ones(2))


def in_a_forward_that_was_replaced(noted):
    model = nn.Linear(2, 2)
    original = model.forward

    def forward(x):
        noted.append(stack())
        return original(x)

    model.forward = forward
    nn.Sequential(model)(torch.ones(2))


def in_a_custom_function(noted):
    class Noting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            noted.append(stack())
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            noted.append(stack()[-2:])
            return gradient

    Noting.apply(torch.ones(2, requires_grad=True)).sum().backward()


def in_what_a_conversion_calls(noted):
    def convert(tensor):
        noted.append(stack())
        return tensor

    nn.Sequential(nn.Sequential(nn.Linear(2, 2)))._apply(convert)


PROGRAMS = (
    in_forward,
    in_forward_of_modules_with_hooks,
    in_a_forward_that_was_replaced,
    in_a_custom_function,
    in_what_a_conversion_calls,
)


IN_C = not hasattr(torch.autograd.Function.apply, "__func__")
"""Since torch 2.15 Function.apply is: a block has a stand-in for it, whose frame lies between."""
STANDS_IN = "_made.<locals>.stand_in"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_torch_calls_the_program_from_the_same_frames(program):
    """Files, lines and functions, without one of ours among them, but for a stand-in of what is written in C."""
    plain = seen_by(program, inspected=False)
    assert plain
    found = [[frame for frame in frames if frame[2] != STANDS_IN] for frames in seen_by(program, inspected=True)]
    assert found == plain
    ours = sum(frame[2] == STANDS_IN for frames in seen_by(program, inspected=True) for frame in frames)
    assert ours == (IN_C and program is in_a_custom_function)


def raising(caught):
    class Raising(nn.Module):
        def forward(self, x):
            raise LookupError

    for model in (nn.Sequential(Raising()), Raising().register_forward_hook(print) and Raising()):
        try:
            model(torch.ones(2))
        except LookupError as error:
            caught.append("".join(traceback.format_tb(error.__traceback__)))


def test_an_error_caught_inside_the_block_shows_the_same_traceback():
    """Down to the columns: nobody need clean it first."""
    plain = seen_by(raising, inspected=False)
    assert plain
    assert seen_by(raising, inspected=True) == plain


def test_torch_keeps_its_functions_and_its_global_hooks():
    """Who compares them, or counts them, as dynamo does, finds what was there before."""

    def state():
        names = [name for name in vars(module_hooks) if name.startswith("_global") and "registration" not in name]
        apply = None if IN_C else torch.autograd.Function.apply.__func__
        functions = (nn.Module.__call__, nn.Module._call_impl, nn.Module._apply, apply)
        return functions, {name: repr(vars(module_hooks)[name]) for name in names}

    before = state()
    with autograd_inspector.inspect():
        assert state() == before
    assert state() == before
