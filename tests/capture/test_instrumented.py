"""Functions compiled anew with a probe around their body: all else about them stays."""

import contextlib
import importlib.util
import itertools
import traceback

import pytest
import torch
from torch import nn

from autograd_inspector.capture.undisturbed import instrumented
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from tests.capture.observe import observe

SOURCE = '''
"""Functions of several kinds."""
from __future__ import annotations
import math
import sys

def plain(a, b=2, /, c=3, *rest, d, e=5, **more):
    """Documented."""
    if a < 0:
        raise ValueError(a)
    def inner():
        return math.floor(a)
    if a == 0:
        return
    return inner() + b + c + d + e + sum(rest) + sum(more.values())

def falls_through(a):
    a.append(1)

def generates(a):
    yield a

class Base:
    def twice(self, x):
        return [x, x]

class Derived(Base):
    @classmethod
    def named(cls, suffix): return cls.__name__ + suffix

    def twice(self, x):
        return super().twice(x) + [self.__private()]

    def __private(self):
        return sys._getframe(1).f_lineno
'''

NUMBER = itertools.count()


class Noting:
    """A probe that notes what it is told."""

    def __init__(self):
        self.told = []

    def before(self, seen, /, *args, **kwargs):
        self.told.append(("before", args, kwargs))
        seen.append(len(self.told))

    def after(self, seen, result, /):
        self.told.append(("after", *seen, result))
        return result

    def failed(self, seen, error, /):
        self.told.append(("failed", *seen, error))


@contextlib.contextmanager
def probed(owner, name, probe):
    """A probe around a function inside the block."""
    installation = Installation()
    around(installation, owner, name, probe)
    try:
        yield
    finally:
        installation.take_back()


@pytest.fixture
def module(tmp_path):
    """A module with a file of its own."""
    path = tmp_path / f"functions_{next(NUMBER)}.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_probe_is_told_of_arguments_and_results(module):
    """As they were given and returned; defaults are the function's affair."""
    noting = Noting()
    with probed(module, "plain", noting):
        assert module.plain(1.5, d=4, f=6) == 21
        assert module.plain(0, 1, 2, 3, d=4) is None
    assert noting.told[0][1:] == ((1.5, 2, 3), {"d": 4, "e": 5, "f": 6})
    assert [told[0] for told in noting.told] == ["before", "after", "before", "after"]
    assert noting.told[1] == ("after", 1, 21)
    module.plain(1, d=4)
    assert len(noting.told) == 4


def test_a_probe_is_told_of_what_is_raised(module):
    """The traceback is the one that the function would have raised."""

    def raised():
        try:
            module.plain(-1, d=1)
        except ValueError as error:
            return traceback.format_tb(error.__traceback__)

    noting, plain = Noting(), raised()
    with probed(module, "plain", noting):
        assert raised() == plain
    kind, seen, error = noting.told[-1]
    assert (kind, seen, str(error)) == ("failed", 1, "-1")


def test_a_function_that_falls_through_returns_none(module):
    """The probe is told that, too."""
    noting, given = Noting(), []
    with probed(module, "falls_through", noting):
        assert module.falls_through(given) is None
    assert given == [1]
    assert noting.told[-1] == ("after", 1, None)


def test_super_private_names_and_class_methods_work(module):
    """A method is compiled in its class."""
    noting, line = Noting(), module.Derived().twice(1)[-1]
    with probed(module.Derived, "twice", noting), probed(module.Derived, "named", noting):
        assert module.Derived().twice(1) == [1, 1, line]
        assert module.Derived.named("!") == "Derived!"
    assert [told[0] for told in noting.told] == ["before", "after"] * 2


def test_the_function_is_the_same_object_in_its_own_frame(module):
    """Inside and after; its code comes back."""
    function, code = module.plain, module.plain.__code__
    with probed(module, "plain", Noting()):
        assert module.plain is function
        inside = function.__code__
        assert inside is not code
        assert (inside.co_filename, inside.co_name, inside.co_qualname, inside.co_firstlineno) == (
            code.co_filename,
            code.co_name,
            code.co_qualname,
            code.co_firstlineno,
        )
    assert function.__code__ is code


def test_code_that_the_program_sets_stays(module):
    """Whoever patches the function inside the block is left alone."""
    with probed(module, "plain", Noting()):
        module.plain.__code__ = module.falls_through.__code__
    assert module.plain.__code__ is module.falls_through.__code__


@pytest.mark.parametrize("name", ["len", "generates", "plain"])
def test_what_cannot_be_compiled_anew_is_wrapped(module, name, tmp_path):
    """Functions in C, generators, and code that is not what the file says: the wrapper goes away again."""
    if name == "len":
        module.len = len
    if name == "plain":
        (tmp_path / f"{module.__name__}.py").write_text(SOURCE.replace("a < 0", "a < -1"))
    noting, original = Noting(), getattr(module, name)
    with probed(module, name, noting):
        assert getattr(module, name) is not original
        getattr(module, name)([1]) if name != "plain" else module.plain(1, d=1)
    assert [told[0] for told in noting.told] == ["before", "after"]
    assert getattr(module, name) is original


def step():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).to(torch.float64)
    Twice.apply(model(torch.ones(1, 2, dtype=torch.float64))).sum().backward()


def test_without_torchs_source_the_same_is_seen(monkeypatch):
    """Where torch is installed without its files."""
    expected = observe(step)
    monkeypatch.setattr(instrumented, "_TEMPLATES", {})
    monkeypatch.setattr(instrumented, "_made_template", lambda *_: None)
    functions = (nn.Module._call_impl, torch.autograd.Function.apply, torch.autograd._engine_run_backward)
    capture = observe(step)
    assert functions == (nn.Module._call_impl, torch.autograd.Function.apply, torch.autograd._engine_run_backward)
    assert [op.name for op in capture.ops] == [op.name for op in expected.ops]
    assert capture.calls == expected.calls
    assert [(run.api, len(capture.graph_of(run).nodes)) for run in capture.backwards] == [("backward", 7)]
    assert [type(event) for event in capture.events] == [type(event) for event in expected.events]


def test_torchs_own_functions_are_compiled_anew():
    """Those that the program's code runs inside: else it would run less deep."""
    for function in (
        nn.Module._call_impl,
        nn.Module._apply,
        *filter(None, [getattr(torch.autograd.Function.apply, "__func__", None)]),  # newer ones have it in C
        torch.autograd.function.BackwardCFunction.apply,
        torch.autograd.graph._engine_run_backward,
    ):
        assert instrumented.with_probe(function, Noting()) is not None, function


def test_a_capture_compiles_nothing_that_an_earlier_one_has_compiled():
    """Each function is parsed once in the process, however many there are: a block would take a fifth of a second."""
    observe(lambda: None)
    before = dict(instrumented._TEMPLATES)
    observe(lambda: None)
    assert before == instrumented._TEMPLATES
    assert all(known is instrumented._TEMPLATES[key] for key, known in before.items())
    assert 0 < len(before) < instrumented._KEPT / 4
