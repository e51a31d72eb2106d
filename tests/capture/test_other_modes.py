"""Beside modes and tensor subclasses of the program's own, around the capture and inside it."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode

import autograd_inspector
from tests.capture.observe import names, nodes, observe


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Logged(torch.Tensor):
    """A subclass that writes down every torch function it meets."""

    seen: list = []  # noqa: RUF012 - one log for the class is the point

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


def program():
    layer = nn.Linear(3, 3)
    (layer(torch.ones(2, 3)).exp() * 2).sum().backward()
    layer.weight.grad.zero_()
    layer.weight.data.mul_(2)


@pytest.mark.parametrize("mode", [Functions, Operators])
def test_a_mode_around_the_capture_sees_only_the_program(mode):
    """What the inspector reads is no business of a mode that was there before."""
    with mode() as plain:
        program()
    with mode() as around:
        capture = observe(program)
    assert around.seen == plain.seen
    assert "exp" in names(capture)


@pytest.mark.parametrize("mode", [Functions, Operators])
def test_a_mode_inside_the_capture_sees_only_the_program(mode):
    """Nor of a mode that the block enters; and the capture goes on recording beside it."""
    with mode() as plain:
        program()
    with autograd_inspector.inspect() as inspection, mode() as inside:
        program()
    assert inside.seen == plain.seen
    assert names(inspection.report.capture) == names(observe(program))


def test_ops_below_autograd_are_not_the_programs():
    """What a dispatch mode or a kernel written in Python calls inside backward is not recorded."""
    with autograd_inspector.inspect() as inspection, Operators():
        torch.ones(3, requires_grad=True).exp().sum().backward()
    assert names(inspection.report.capture) == ["ones", "exp", "sum"]


def test_a_subclass_sees_only_the_program():
    """A tensor subclass's own __torch_function__ is not called for the inspector's sake."""

    def uses():
        x = torch.ones(3).as_subclass(Logged).requires_grad_()
        (x.exp() * 2).sum().backward()

    Logged.seen = []
    uses()
    plain, Logged.seen = Logged.seen, []
    capture = observe(uses)
    assert Logged.seen == plain
    assert "exp" in names(capture)
    assert "ExpBackward0" in nodes(capture)


def test_a_wrapper_subclass():
    """A subclass made of other tensors is one tensor to the report."""

    def uses():
        x = TwoTensor(torch.ones(3), torch.ones(3)).requires_grad_()
        (x.exp() * 2).sum().backward()

    capture = observe(uses)
    assert [name for name in names(capture) if "." not in name][-3:] == ["exp", "mul", "sum"]
    assert nodes(capture) == ["SumBackward0", "MulBackward0", "ExpBackward0", "AccumulateGrad"]


def test_fake_tensors():
    """Tensors without storage and values go through like any other."""

    def fake():
        with FakeTensorMode():
            nn.Linear(3, 2)(torch.ones(4, 3)).sum().backward()

    capture = observe(fake)
    assert names(capture)[-2:] == ["linear", "sum"]
    assert [tensor.shape for tensor in capture.tensors if tensor.birth == len(capture.ops) - 2] == [(4, 2)]


def test_a_default_device_entered_in_the_block():
    """torch.device as a context puts its mode at the bottom of the stack: ours stays in working order."""

    def uses():
        with torch.device("meta"):
            x = torch.ones(3)
        torch.ones(2) * 2
        assert x.device.type == "meta"

    assert names(observe(uses)) == ["ones", "ones", "mul"]


@pytest.mark.filterwarnings("ignore:.torch.jit.trace. is deprecated:DeprecationWarning")
def test_jit_tracing_is_left_alone():
    """What torch.jit.trace records is the program, with its own names and lines, without our looks at shapes."""

    def model(x):
        return (x * 2).relu()

    def trace():
        return str(torch.jit.trace(model, torch.ones(3)).graph)

    plain = trace()
    traced = []
    observe(lambda: traced.append(trace()))
    assert traced == [plain]


@pytest.mark.filterwarnings("ignore:.torch.jit.trace. is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit.trace_method. is deprecated:DeprecationWarning")
def test_modules_within_modules_are_traced():
    """Torch compares two traces of a module, by the names that it gives to values; what comes after is observed."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))

    def program():
        traced = torch.jit.trace(model, torch.ones(2, 3), check_trace=True)
        torch.ones(2).exp()
        return traced

    assert names(observe(program))[-1] == "exp"


def test_symbolic_tracing_is_left_alone():
    """torch.fx sees the same graph."""
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    plain = torch.fx.symbolic_trace(model).code
    traced = []
    observe(lambda: traced.append(torch.fx.symbolic_trace(model).code))
    assert traced == [plain]


def test_export_is_left_alone():
    """torch.export with a dynamic dimension gives the same program, and no size becomes a guard."""

    class Model(nn.Module):
        def forward(self, x):
            return (x * 2).sum(0)

    def exported():
        batch = torch.export.Dim("batch", min=2)
        return torch.export.export(Model(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: batch}}, strict=False)

    plain, traced = exported(), []
    observe(lambda: traced.append(exported()))
    assert str(traced[0].graph) == str(plain.graph)
    assert str(traced[0].range_constraints) == str(plain.range_constraints)
