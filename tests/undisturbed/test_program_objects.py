"""Objects of the program's that compute what is asked of them: nothing is asked, and the recording goes on."""

import linecache
import sys
import types

import pytest
import torch
from torch import nn

from .test_program_classes import inspected

pytestmark = pytest.mark.undisturbed


class AskedError(Exception):
    """Something was asked of an object that nobody may ask."""


class Silent:
    """Raises whatever it is asked for."""

    asked = ()

    def __getattr__(self, name):
        Silent.asked += (name,)
        raise AskedError(name)

    @property
    def __class__(self):
        Silent.asked += ("__class__",)
        raise AskedError

    def __bool__(self):
        Silent.asked += ("__bool__",)
        raise AskedError

    def __eq__(self, other):
        Silent.asked += ("__eq__",)
        raise AskedError

    __hash__ = None

    def __call__(self, *_):
        """Does nothing."""


@pytest.fixture(autouse=True)
def nothing_is_asked():
    Silent.asked = ()
    yield
    assert Silent.asked == ()


def run_of(text, names=None):
    """The function ``run`` of a file with that text, in a namespace of the test's."""
    filename, names = f"objects_{abs(hash(text))}.py", {} if names is None else names
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    exec(compile(text, filename, "exec"), names)
    return dict.__getitem__(names, "run")


# --- modules ----------------------------------------------------------------------------------------------------------


class Truthless(types.ModuleType):
    """Computes its truth, its length and its dictionary."""

    def __bool__(self):
        raise AskedError

    def __len__(self):
        raise AskedError

    @property
    def __dict__(self):
        raise AskedError

    def relu(self, x):
        return x.relu()


@pytest.mark.parametrize("imported", ["import lazy_ops", "import lazy_ops.part as part"])
@pytest.mark.parametrize("where", ["global", "local"])
def test_a_module_is_asked_for_nothing(monkeypatch, imported, where):
    """Neither where an expression names it, nor where it imports a part of it."""
    lazy = Truthless("lazy_ops")
    monkeypatch.setitem(sys.modules, "lazy_ops", lazy)
    monkeypatch.setitem(sys.modules, "lazy_ops.part", lazy)
    name = imported.split()[-1]
    inside, outside = (f"    {imported}\n", "") if where == "local" else ("", f"{imported}\n")
    # An import of a part asks the whole for it.
    monkeypatch.setattr(Truthless, "part", lazy, raising=False)
    run = run_of(f"{outside}def run(w):\n{inside}    return {name}.relu(\n        w)\n")
    capture = inspected(lambda: run(torch.ones(2, requires_grad=True)))
    relu = next(op for op in capture.ops if op.name == "relu")
    assert [frame.namespaces for frame in capture.site(relu.site)[:2]] == [(), (name,)]


# --- what decorates a function ----------------------------------------------------------------------------------------


class Endless:
    """Decorates something else, which decorates something else."""

    def __getattr__(self, name):
        return Endless()


WRAPPED = {
    "itself": lambda helper: helper,
    "nothing that tells": lambda _: Silent(),
    "ever another": lambda _: Endless(),
}


def decorated(by):
    def helper(*_):
        pass

    helper.__wrapped__ = WRAPPED[by](helper)
    return helper


@pytest.mark.parametrize("by", WRAPPED)
def test_what_a_method_of_a_module_decorates(by):
    """A method of a base class is found next to it."""

    class Base(nn.Linear):
        def freeze(self):
            self.weight.requires_grad_(False)

    class Extending(Base):
        helper = decorated(by)

        def freeze(self):
            super().freeze()

    model = Extending(2, 2)
    (change,) = inspected(model.freeze).requires_grad_changes
    assert [name.rpartition(".")[2] for name in change.extended_by] == ["freeze"]


@pytest.mark.parametrize("by", WRAPPED)
def test_what_a_method_of_an_optimizer_decorates(by):
    """Its steps are recorded."""

    class Own(torch.optim.SGD):
        helper = decorated(by)

    weight = torch.ones(2, requires_grad=True)

    def program():
        optimizer = Own([weight], 0.1)
        (weight * 2).sum().backward()
        optimizer.step()

    assert len(inspected(program).steps) == 1


@pytest.mark.parametrize("by", WRAPPED)
def test_what_a_backward_or_a_function_under_no_grad_decorates(by):
    """A custom Function's backward, and what is switched to another mode."""
    helper = decorated(by)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x.detach()
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    Twice.backward.__wrapped__ = WRAPPED[by](Twice.backward)
    weight = torch.ones(2, requires_grad=True)

    def program():
        torch.no_grad()(helper)()
        Twice.apply(weight).sum().backward()

    assert [run.api for run in inspected(program).backwards] == ["backward"]


# --- attributes -------------------------------------------------------------------------------------------------------


def test_a_dictionary_that_is_computed_is_not_read():
    """As a proxy's, which has one only within a request."""
    looked = []

    class Proxy:
        @property
        def __dict__(self):
            looked.append("__dict__")
            raise AskedError

    proxy = Proxy()
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)

    def reset(optimizer, held):
        optimizer.state.clear()
        return held

    def program():
        near = proxy
        reset(optimizer, near)
        (weight * 2).sum().backward()
        nn.Linear(2, 2)(torch.ones(1, 2))
        optimizer.state[weight]["held"] = near
        optimizer.step()

    inspected(program)
    assert looked == []


def test_hooks_are_asked_for_nothing():
    """On a module, on a tensor, and on a leaf that had one before."""
    model, weight = nn.Linear(2, 2), torch.ones(2, requires_grad=True)
    model.weight.register_hook(Silent())

    def program():
        model.register_full_backward_hook(Silent())
        model.register_full_backward_pre_hook(Silent())
        weight.register_hook(Silent())
        weight.register_hook(Silent())
        (model(weight)).sum().backward()

    names = [hook.name for hook in inspected(program).tensor_hooks if not hook.older]
    assert names == ["Silent", "Silent"]


class Mute(str):
    """Will not be written."""

    __slots__ = ()

    def __str__(self):
        raise AskedError


class MuteNumber(int):
    """Neither."""

    def __str__(self):
        raise AskedError

    __repr__ = __abs__ = __str__


def test_settings_are_read_past_their_classes():
    """Their text is that of the plain value."""
    weight = torch.ones(2, requires_grad=True)

    def program():
        given = {"mode": Mute("fast"), "every": MuteNumber(3), Mute("named"): 1, "pair": (Mute("a"), Silent()), 3: 4}
        optimizer = torch.optim.SGD([{"params": [weight], **given, "silent": Silent()}], 0.1)
        (weight * 2).sum().backward()
        optimizer.step()

    (record,) = inspected(program).placement.optimizers
    (group,) = record.groups
    assert [getattr(group[name], "text", group[name]) for name in ("mode", "every", "named", "3")] == [
        "fast",
        "3",
        1,
        4,
    ]
    assert [part.text for part in group["pair"]] == ["a", "<Silent>"]
    assert "silent" not in group


class Assigning:
    """True, as far as torch asks."""

    def __init__(self):
        self.asked = []

    def __bool__(self):
        self.asked.append("__bool__")
        return True

    def __eq__(self, other):
        self.asked.append("__eq__")
        return True

    __hash__ = None


@pytest.mark.parametrize("by", ["name", "place"])
def test_what_a_load_is_given_is_not_compared(by):
    """Torch alone asks what it is."""

    def asked(run):
        model, assign = nn.Linear(2, 2), Assigning()
        state = nn.Linear(2, 2).state_dict()
        if by == "name":
            run(lambda: model.load_state_dict(state, assign=assign))
        else:
            run(lambda: model.load_state_dict(state, True, assign))
        return assign.asked

    assert asked(inspected) == asked(lambda program: program())


# --- namespaces -------------------------------------------------------------------------------------------------------

TEXT = """
import torch
from torch import nn
def run(w, optimizer):
    entries = len(optimizer.state)
    loss = (w * 2).sum()
    scaled = loss + loss.item() * 3
    scaled.backward()
    optimizer.step()
    net = nn.Linear(2, 2)
    net(torch.ones(1, 2))
"""


def test_a_namespace_of_a_class_of_its_own_is_read_past_it():
    """As often as without the inspector; one of its names is none."""
    ran = []

    class Names(dict):
        def __getitem__(self, key):
            ran.append(("getitem", key))
            return dict.__getitem__(self, key)

        def get(self, key, default=None):
            ran.append(("get", key))
            return dict.get(self, key, default)

        def items(self):
            ran.append(("items",))
            return dict.items(self)

    def asked(run):
        names = Names({3: nn.Linear(1, 1), 4: torch.ones(1)})
        program = run_of(TEXT, names)
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight], 0.1)
        ran.clear()
        run(lambda: program(weight, optimizer))
        return list(ran)

    with_inspector = asked(inspected)
    assert with_inspector == asked(lambda program: program())
