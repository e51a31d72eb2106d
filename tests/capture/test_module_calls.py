"""Module calls are seen whoever makes them, and torch's own ways through modules stay open."""

import copy

import pytest
import torch
from torch import nn

import autograd_inspector
from tests.capture.observe import observe


def net():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU())


NET = [("Sequential", ""), ("Linear", "0"), ("ReLU", "1")]


class Overriding(nn.Linear):
    def __call__(self, *args):
        return super().__call__(*args) * 2


class Direct(nn.Linear):
    __call__ = nn.Module._call_impl


def patched():
    """What libraries that load weights late do to a module."""
    model = nn.Linear(3, 3)
    original = model.forward
    model.forward = lambda *args: original(*args) + 1
    return model


CALLERS = {
    "the program": (net, NET),
    "a graph module": (lambda: torch.fx.symbolic_trace(net()), NET),
    "a __call__ of its own": (lambda: Overriding(3, 3), [("Overriding", "")]),
    "no __call__ of nn.Module's": (lambda: Direct(3, 3), [("Direct", "")]),
    "a forward set on the module": (patched, [("Linear", "")]),
    "a lazy module": (lambda: nn.LazyLinear(4), [("LazyLinear", "")]),
    "data parallelism": (
        lambda: nn.DataParallel(net()),
        [("DataParallel", ""), *((k, f"module.{p}".strip(".")) for k, p in NET)],
    ),
}


@pytest.mark.parametrize(("make", "expected"), CALLERS.values(), ids=CALLERS)
def test_calls_are_seen_whoever_makes_them(make, expected):
    """Each with its class and its place in the model."""
    model = make()
    capture = observe(lambda: model(torch.ones(2, 3)))
    assert [(call.type, call.path) for call in capture.calls] == expected


def test_functional_call_is_seen():
    """torch.func.functional_call calls the module like anybody."""
    model = net()
    given = dict(model.named_parameters())
    capture = observe(lambda: torch.func.functional_call(model, given, (torch.ones(2, 3),)))
    assert [(call.type, call.path) for call in capture.calls] == NET


def test_a_call_ends_where_it_ends_after_an_error_that_is_none():
    """Also one that no ``except Exception`` catches."""

    class Leaving(nn.Module):
        def forward(self, x):
            raise GeneratorExit

    model = nn.Sequential(Leaving())

    def program():
        try:
            model(torch.ones(1))
        except GeneratorExit:
            torch.ones(2).exp()

    capture = observe(program)
    assert [op.call for op in capture.ops if op.name == "exp"] == [-1]


def test_a_forward_hooks_ops_belong_to_the_call():
    """They run before the call returns."""
    model = nn.Linear(3, 3)
    model.register_forward_hook(lambda module, given, result: result.exp())
    capture = observe(lambda: model(torch.ones(2, 3)))
    assert [op.call for op in capture.ops if op.name == "exp"] == [0]


@pytest.mark.parametrize("strict", [False, True], ids=["as it runs", "by dynamo"])
def test_a_model_can_be_exported_inside_a_block(strict):
    """Whoever traces module calls meets none of our frames there."""
    model, x = net(), torch.ones(2, 3)
    with autograd_inspector.inspect():
        exported = torch.export.export(model, (x,), strict=strict).module()
    assert torch.equal(exported(x), model(x))


def test_a_module_of_torchs_own_compiled_in_place_is_not_compiled():
    """``module.compile()``: Dynamo leaves torch's own modules to Python, so that all ops are seen as they run."""
    model = copy.deepcopy(net())
    ops = [op.name for op in observe(lambda: model(torch.ones(2, 3))).ops]
    model.compile(backend="eager")
    capture = observe(lambda: model(torch.ones(2, 3)))
    assert [op.name for op in capture.ops] == ops
    assert any("compiles nothing" in note for note in capture.notes)


def test_the_profiler_knows_modules_by_torchs_own_call(capfd):
    """Started inside a block first, or later outside one."""
    from torch.profiler import profile

    def seen():
        with profile(with_stack=True, with_modules=True) as profiled:
            model(x)
        return sum("nn.Module" in event.name for event in profiled.events())

    model, x = net(), torch.ones(2, 3)
    with autograd_inspector.inspect():
        inside = seen()
    assert (inside, seen()) == (3, 3)
