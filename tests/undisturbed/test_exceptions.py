"""What a program raises is the same object, with the same message and the same end of the traceback."""

import traceback

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import autograd_inspector

pytestmark = pytest.mark.undisturbed


def inplace():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def shapes():
    F.linear(torch.ones(2, 3), torch.ones(4, 5))


def inside_a_module():
    nn.Sequential(nn.Flatten(), nn.Linear(3, 2))(torch.ones(2, 7))


def python_torch_function():
    F.cross_entropy(torch.ones(2, 3), torch.ones(5, dtype=torch.long))


def in_a_hook():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda _: {}["missing"])
    y.sum().backward()


def in_a_custom_function():
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise LookupError("backward is broken")

    Broken.apply(torch.ones(3, requires_grad=True)).sum().backward()


def in_a_step():
    parameter = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([parameter])
    parameter.grad = torch.ones(3)
    optimizer.step()
    optimizer.state[parameter]["exp_avg"] = torch.ones(3, dtype=torch.float64)
    optimizer.step()


def twice():
    loss = torch.ones(3, requires_grad=True).exp().sum()
    loss.backward()
    loss.backward()


def leaf():
    torch.ones(3, requires_grad=True).add_(1)


def chained():
    try:
        torch.ones(2, 3) @ torch.ones(2, 3)
    except RuntimeError as error:
        raise ValueError("wrapped") from error


PROGRAMS = (
    inplace,
    shapes,
    inside_a_module,
    python_torch_function,
    in_a_hook,
    in_a_custom_function,
    in_a_step,
    twice,
    leaf,
    chained,
)


def raised_by(program, *, inspected):
    try:
        if inspected:
            with autograd_inspector.inspect():
                program()
        else:
            program()
    except Exception as error:
        return error
    raise AssertionError("the program did not raise")


def frames_of(error):
    """(file, function, line) of the program's own frames and torch's."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.filename, frame.name, frame.lineno) for frame in frames if frame.name != "raised_by"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_exception_is_the_one_that_torch_raises(program):
    """Type, message and the frames of the traceback are those of a run without the inspector."""
    plain, inspected = raised_by(program, inspected=False), raised_by(program, inspected=True)
    assert type(inspected) is type(plain)
    assert str(inspected) == str(plain)
    assert frames_of(inspected) == frames_of(plain)
    if plain.__cause__ is not None:
        assert frames_of(inspected.__cause__) == frames_of(plain.__cause__)


def test_the_exception_object_is_the_programs_own():
    """The very object that the program raised comes out."""
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught, autograd_inspector.inspect():
        raise error
    assert caught.value is error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exceptions_that_are_no_errors_pass_through_and_leave_a_report(kind):
    """KeyboardInterrupt and its like pass, and the report is there."""
    inspection = autograd_inspector.inspect()
    with pytest.raises(kind), inspection:  # noqa: PT012
        torch.ones(3, requires_grad=True).exp()
        raise kind
    assert [op.name for op in inspection.report.capture.ops] == ["ones", "exp"]
    assert inspection.report.capture.error.startswith(kind.__name__)


def test_an_exception_that_the_program_catches_is_not_ours_to_report():
    """A caught error leaves no trace in the report's error."""
    with autograd_inspector.inspect() as inspection, pytest.raises(RuntimeError):
        shapes()
    assert inspection.report.capture.error == ""
