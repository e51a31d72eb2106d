"""What a program's own classes answer, or fail to, is their business: the recording goes on."""

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import autograd_inspector
from autograd_inspector.messages import message_of, text_of

pytestmark = pytest.mark.undisturbed


def inspected(program):
    """The capture of a program, which must have been recorded to its end."""
    with autograd_inspector.inspect() as inspection:
        program()
        torch.ones(2).neg()
    capture = inspection.report.capture
    assert capture.stopped == ""
    assert capture.ops[-1].name == "neg"
    return capture


# --- exceptions whose message cannot be had ---------------------------------------------------------------------------


class MuteError(Exception):
    """Raises where it is asked for its message."""

    def __str__(self):
        raise ValueError


def in_an_op():
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise MuteError

    torch.add(torch.ones(1).as_subclass(Refusing), 1)


def in_a_backward():
    weight = torch.ones(2, requires_grad=True)

    def hook(_gradient):
        raise MuteError

    weight.register_hook(hook)
    (weight * 2).sum().backward()


def in_a_load():
    optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1)

    def hook(_optimizer, _state):
        raise MuteError

    optimizer.register_load_state_dict_pre_hook(hook)
    optimizer.load_state_dict(optimizer.state_dict())


def in_a_step():
    def closure():
        raise MuteError

    torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1).step(closure)


@pytest.mark.parametrize("program", [in_an_op, in_a_backward, in_a_load, in_a_step])
def test_an_exception_without_a_message_is_told_by_its_type(program):
    """Wherever it was raised; it comes out as the object that it is."""

    def caught():
        with pytest.raises(MuteError):
            program()

    inspected(caught)


def test_a_block_that_ends_with_such_an_exception_has_a_report():
    """What was recorded before is there, and the type of the exception."""

    def program():
        torch.ones(2).neg()
        raise MuteError

    with pytest.raises(MuteError), autograd_inspector.inspect() as inspection:
        program()
    capture = inspection.report.capture
    assert [op.name for op in capture.ops] == ["ones", "neg"]
    assert (capture.error, capture.stopped) == ("MuteError", "")


def test_every_text_of_an_exception_is_as_long():
    """Of a long message the beginning and the end; a subclass of ``str`` is none of ours."""

    class Loud(str):
        __slots__ = ()

        def __format__(self, _):
            raise ValueError

        def __len__(self):
            raise ValueError

    class LoudError(Exception):
        def __str__(self):
            return Loud("loud")

    long = text_of(ValueError("a" * 3000 + "z" * 3000))
    assert len(long) == 4000
    assert (long[:12], long[-1]) == ("ValueError: ", "z")
    assert text_of(LoudError()) == "LoudError: loud"
    assert type(message_of(LoudError())) is str


# --- arguments that torch refuses -------------------------------------------------------------------------------------

NO_GROUPS = ([torch.ones(1)], None, 3, {"params": 3}, {"lr": 1.0})
NO_STATES = (
    None,
    3,
    [],
    {"state": [], "param_groups": 3},
    {"state": {}, "param_groups": [3]},
    {"state": {}, "param_groups": [{"params": 3}]},
    {"state": {}, "param_groups": [{"params": [[]]}, {"params": []}]},
    {"param_groups": [{}]},
)


@pytest.mark.parametrize("group", NO_GROUPS, ids=repr)
def test_what_is_no_group_is_refused_by_torch_alone(group):
    """``add_param_group`` raises what it raises."""

    def program():
        optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1)
        with pytest.raises((TypeError, AssertionError, KeyError)):
            optimizer.add_param_group(group)

    assert [type(event).__name__ for event in inspected(program).events][-1] == "ParametersRefused"


@pytest.mark.parametrize("state", NO_STATES, ids=repr)
def test_what_is_no_state_is_refused_by_torch_alone(state):
    """``load_state_dict`` raises what it raises."""

    def program():
        optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1)
        with pytest.raises((TypeError, AttributeError, ValueError, KeyError)):
            optimizer.load_state_dict(state)

    assert [type(event).__name__ for event in inspected(program).events][-1] == "LoadRefused"


def test_names_that_are_none_load_like_any_setting():
    """Torch takes whatever a group has."""

    def program():
        optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1)
        state = optimizer.state_dict()
        state["param_groups"][0] |= {"param_names": 5, "train_mode": torch.ones(2)}
        optimizer.load_state_dict(state)

    assert "StateLoaded" in [type(event).__name__ for event in inspected(program).events]


# --- optimizers that lack what torch's have ---------------------------------------------------------------------------


class Stateless(torch.optim.Optimizer):
    """Has groups and nothing else."""

    def __init__(self, parameters):
        self.param_groups = [{"params": list(parameters)}]
        self.defaults = {}
        self._zero_grad_profile_name = "zero_grad"


class Secretive(Stateless):
    """Will not tell."""

    @property
    def state(self):
        raise ValueError


class Groupless(Stateless):
    """Not even groups."""

    def __init__(self):
        self._zero_grad_profile_name = "zero_grad"


@pytest.mark.parametrize("kind", [Stateless, Secretive])
def test_an_optimizer_without_state(kind):
    """Its parameters are told like any other's."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = kind([weight])
    capture = inspected(lambda: optimizer.zero_grad())  # noqa: PLW0108 - looked up in the block
    (record,) = capture.placement.optimizers
    assert [len(group) for group in record.parameters] == [1]
    assert [row.state for row in capture.placement.rows] == [()]


def test_an_optimizer_without_groups():
    """Torch raises where it is used."""

    def program():
        with pytest.raises(AttributeError):
            Groupless().zero_grad()

    inspected(program)


# --- modules that override what torch's have --------------------------------------------------------------------------

INSIDE = ("parameters", "buffers", "modules", "children")
NAMED = tuple(f"named_{name}" for name in INSIDE)


def raising(name):
    def method(self, prefix=""):
        raise AssertionError(name)

    return method


class Net(nn.Module):
    """A part in two places, a buffer and a part of its own kind."""

    def __init__(self):
        super().__init__()
        self.first = self.second = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(self.second(self.first(x)))


Overriding = type("Net", (Net,), {name: raising(name) for name in (*INSIDE, *NAMED)})


def named(kind):
    def program():
        net = kind()
        weight = net.first.weight
        optimizer = torch.optim.SGD([weight], 0.1)
        net(torch.ones(3, 2)).sum().backward()
        optimizer.step()

    capture = inspected(program)
    return (
        sorted(record.names for record in capture.tensors if record.names),
        [(call.path, call.type) for call in capture.calls],
    )


def test_methods_that_a_module_overrides_are_not_called():
    """It is described as one that overrides none of them."""
    assert named(Overriding) == named(Net)


def test_a_module_that_contains_itself():
    """Every name is found once."""

    def program():
        net = Net()
        net.norm.owner = net
        net(torch.ones(3, 2))

    names = {name for record in inspected(program).tensors for name in record.names}
    assert {"first.weight", "second.weight", "norm.weight"} <= names
    assert not any("owner" in name for name in names)


def test_no_attribute_is_asked_of_a_module():
    """``__getattr__`` runs as often as without the inspector, and may fail as it likes."""
    asked = []

    class Own(nn.Module):
        def __getattr__(self, name):
            asked.append(name)
            raise KeyError(name)

        def forward(self, x):
            return x

    module = Own()
    asked.clear()
    module(torch.ones(1))
    plainly = list(asked)
    asked.clear()
    inspected(lambda: module(torch.ones(1)))
    assert asked == plainly


def test_attributes_of_a_module_may_be_anything():
    """A tensor called ``inplace``, a property called so: only what torch's modules have there counts."""

    class Tensors(nn.Module):
        def __init__(self):
            super().__init__()
            self.inplace = torch.ones(3)

        def forward(self, x):
            return x

    class Properties(nn.Module):
        @property
        def inplace(self):
            raise ValueError

        def forward(self, x):
            return x

    capture = inspected(lambda: [module(torch.ones(1)) for module in (Tensors(), Properties(), nn.ReLU(inplace=True))])
    assert [call.inplace for call in capture.calls] == [False, False, True]


# --- modes ------------------------------------------------------------------------------------------------------------


def test_no_mode_sees_what_is_read_of_what_exists_already():
    """A graph, an optimizer, a model."""
    seen = []

    class Seeing(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    loss = net(torch.ones(3, 2)).sum()
    with Seeing():
        reports = [
            autograd_inspector.inspect_graph(loss, model=net),
            autograd_inspector.inspect_optimizer(optimizer, net),
            autograd_inspector.inspect_model(net),
        ]
    assert seen == []
    assert all(report.capture.stopped == "" for report in reports)
