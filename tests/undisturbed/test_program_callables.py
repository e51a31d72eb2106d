"""What a program calls through torch's protocol, and hands to torch: neither it nor its class is hashed or compared."""

import dataclasses
import importlib

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function_unary

from autograd_inspector.capture.native.putting_in import pure_python
from tests.capture.test_native import by_each

from .test_program_classes import inspected

pytestmark = pytest.mark.undisturbed


class AskedError(Exception):
    """Something was asked of an object that nobody may ask."""


class Unhashable(type):
    """Classes that can be compared only with themselves."""

    def __eq__(cls, other):
        raise AskedError

    __hash__ = None


class UnhashableTensors(type(torch.Tensor)):
    """The same of subclasses of Tensor."""

    def __eq__(cls, other):
        raise AskedError

    __hash__ = None


@pytest.fixture(params=["by C", "by Python"], autouse=True)
def recorded(request):
    """C records where it is compiled, and Python where it is not."""
    if request.param == "by C":
        yield
    else:
        with pure_python():
            yield


# --- what is called ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Scaled:
    """A function with a setting: dataclasses that are compared by value have no hash."""

    factor: float

    def __call__(self, x):
        if has_torch_function_unary(x):
            return handle_torch_function(self, (x,), x)
        return x * self.factor


class Silent:
    """Raises whatever it is asked for, but for a call."""

    def __getattr__(self, name):
        raise AskedError(name)

    def __eq__(self, other):
        raise AskedError

    def __hash__(self):
        raise AskedError

    def __bool__(self):
        raise AskedError

    @property
    def __name__(self):
        raise AskedError

    @property
    def __code__(self):
        raise AskedError

    def __call__(self, x):
        if has_torch_function_unary(x):
            return handle_torch_function(self, (x,), x)
        return x * 2


class Methods:
    """Its methods are called so, and it has no hash."""

    __hash__ = None

    def run(self, x):
        if has_torch_function_unary(x):
            return handle_torch_function(self.run, (x,), x)
        return x * 2


class Handing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("called", "name"),
    [(Scaled(2.0), "Scaled"), (Silent(), "Silent"), (Methods().run, "run")],
    ids=["Scaled", "Silent", "run"],
)
def test_an_object_that_is_called_is_asked_for_nothing(called, name):
    """It is recorded by the name of its class, or of the method, also in a step, without gradients and below a mode."""
    weight = torch.ones(2, requires_grad=True)

    class Calling(torch.optim.SGD):
        def step(self):
            with torch.no_grad():
                weight.sub_(called(weight.grad), alpha=0.1)

    def program():
        optimizer = Calling([weight], 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            called(weight).sum().backward()
            optimizer.step()
        with Handing():
            called(weight)

    ops = inspected(program).ops
    assert name in {op.name for op in ops}
    assert weight.tolist() == pytest.approx([0.2, 0.2])


def test_an_object_that_names_itself():
    """A wrapper made by ``functools.update_wrapper`` has the name of what it wraps."""
    called = Scaled(3.0)
    called.__name__ = "scaled"
    assert [op.name for op in inspected(lambda: called(torch.ones(2))).ops] == ["ones", "scaled", "ones", "neg"]


# --- what torch is given ----------------------------------------------------------------------------------------------


def test_a_class_of_an_argument_is_not_hashed():
    """An index, a number, an operand that torch refuses, a result: all are as without the inspector."""

    class Number(int, metaclass=Unhashable):
        pass

    class Factor(float, metaclass=Unhashable):
        pass

    class Other(metaclass=Unhashable):
        pass

    class Pair(tuple, metaclass=Unhashable):
        __slots__ = ()

    def pair(x):
        if has_torch_function_unary(x):
            return handle_torch_function(pair, (x,), x)
        return Pair((x * 2, Other()))

    def program():
        x = torch.arange(4.0)
        for _ in range(3):
            told.append((x[Number(1)].item(), torch.add(x, Number(2)).sum().item(), (x * Factor(3)).sum().item()))
            told.append((x == Other(), pair(x)[0].sum().item()))

    told = []
    inspected(program)
    assert told == [(1.0, 14.0, 18.0), (False, 12.0)] * 3


def test_a_class_of_tensors_is_not_hashed():
    """Their ops run; those of torch's that are written in Python hash it, and raise with and without the inspector."""

    class Marked(torch.Tensor, metaclass=UnhashableTensors):
        pass

    def program():
        x = torch.ones(2).as_subclass(Marked)
        for _ in range(2):
            y = x * 2 + 1
        told.append((type(y), y.tolist()))

    told = []
    inspected(program)
    assert told[0][0] is Marked
    assert told[0][1] == [3, 3]


def test_a_class_of_modules_and_of_what_they_hold_is_not_hashed():
    """A model, its parameters, an optimizer, its state, a variable; where torch has abstract classes, too."""
    if torch.distributed.is_available():
        importlib.import_module("torch.distributed.optim")

    class Net(nn.Module, metaclass=Unhashable):
        def __init__(self):
            super().__init__()
            self.layer, self.beside, self.many = nn.Linear(2, 2), Other(), [Other(), {"other": Other()}]

        def forward(self, x):
            near = self.beside
            return self.layer(x), near

    class Other(metaclass=Unhashable):
        pass

    class Stepping(torch.optim.Adam, metaclass=Unhashable):
        pass

    def program():
        net = Net()
        optimizer = Stepping([{"params": net.parameters(), "other": Other()}])
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(1, 2))[0].sum().backward()
            optimizer.step()
            optimizer.state[net.layer.weight]["other"] = Other()
        net.load_state_dict(net.state_dict())
        optimizer.state_dict()

    capture = inspected(program)
    assert len(capture.steps) == 2
    assert {"layer.weight", "layer.bias"} <= {name for record in capture.tensors for name in record.names}


def test_both_record_the_same_of_what_is_called():
    """An object that is called, in C and in Python."""

    def program():
        x = torch.ones(2, requires_grad=True)
        for _ in range(3):
            x = Scaled(2.0)(x)
        return [(op.name, op.inputs, op.outputs) for op in inspected(lambda: Scaled(2.0)(x)).ops]

    one, other = by_each(program)
    assert one == other
