"""After any exit, torch is as it was before."""

import gc
import sys
import threading
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import Optimizer
from torch.optim import optimizer as optimizer_hooks
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

import autograd_inspector
from autograd_inspector.capture.recording import registry
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning

pytestmark = pytest.mark.undisturbed

PATCHED = (
    (torch.autograd, ("_engine_run_backward",)),
    (torch.autograd.Function, ("apply",)),
    (nn.Module, ("_apply", "load_state_dict", "__call__", "__setattr__")),
    (Optimizer, ("__init__", "add_param_group", "load_state_dict", "zero_grad")),
    (torch.inference_mode, ("__enter__", "__exit__")),
    (torch, ("from_numpy", "compile")),
    (torch.utils, ("swap_tensors", "weakref")),
    (torch._C, ("_swap_tensor_impl",)),
    (dist, ("all_reduce", "broadcast", "all_gather")),
    (threading.Thread, ("start", "run", "_bootstrap_inner")),
    (warnings, ("showwarning", "_showwarnmsg", "_filters_mutated", "warn")),
)


def state_of_torch():
    """Everything global that an observer could have touched."""
    hooks = {
        name: list(value.items())
        for owner in (module_hooks, optimizer_hooks)
        for name, value in vars(owner).items()
        if name.startswith("_global") and isinstance(value, dict)
    }
    patched = {
        (owner.__name__, name): vars(owner)[name] for owner, names in PATCHED for name in names if name in vars(owner)
    }
    functions = (
        nn.Module._call_impl,
        nn.Module._apply,
        getattr(torch.autograd.Function.apply, "__func__", torch.autograd.Function.apply),
        torch.autograd.function.BackwardCFunction.apply,
        torch.autograd.graph._engine_run_backward,
    )
    dynamo = torch._dynamo.eval_frame
    return {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "function modes": _get_current_function_mode_stack(),
        "dispatch modes": _get_current_dispatch_mode_stack(),
        "torch functions": torch._C._is_torch_function_enabled(),
        "saved tensor hooks": torch._C._autograd._saved_tensors_hooks_is_enabled(),
        "hooks": hooks,
        "patched": patched,
        # Since torch 2.15 Function.apply is written in C: something stands in for it.
        "code": [getattr(function, "__code__", function) for function in functions],
        "recursion limit": sys.getrecursionlimit(),
        "dynamo": (dynamo._maybe_set_eval_frame, dynamo.OptimizedModule.__call__),
        "warning filters": list(warnings.filters),
        "garbage collector": (gc.isenabled(), gc.get_threshold(), len(gc.callbacks)),
        "default dtype": torch.get_default_dtype(),
    }


def a_step():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()


def test_after_a_return():
    """Nothing is left behind by a block that ends well."""
    import torch._dynamo  # noqa: F401 - imported here, so that the comparison does not import it half-way

    before = state_of_torch()
    with autograd_inspector.inspect():
        assert state_of_torch() != before
        a_step()
    assert state_of_torch() == before


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_after_an_exception(kind):
    """Nothing is left behind by a block that raises, wherever it raised."""

    class Raising(nn.Module):
        def forward(self, x):
            raise kind

    before = state_of_torch()
    with pytest.raises(kind), autograd_inspector.inspect():
        nn.Sequential(Raising())(torch.ones(3))
    assert state_of_torch() == before
    with pytest.raises(kind), autograd_inspector.inspect():  # noqa: PT012
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(lambda _: Raising()(None))
        y.sum().backward()
    assert state_of_torch() == before


def test_after_an_optimizer_step_that_raised():
    """Nothing is left behind when the block ends inside a step."""

    def closure():
        raise ValueError

    before = state_of_torch()
    with pytest.raises(ValueError), autograd_inspector.inspect():
        torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1).step(closure)
    assert state_of_torch() == before


def test_after_the_inspectors_own_failure(monkeypatch):
    """Nothing is left behind when the inspector itself fails half-way."""

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    before = state_of_torch()
    with pytest.warns(InspectorWarning), autograd_inspector.inspect():  # noqa: PT031
        monkeypatch.setattr(registry.Registry, "add", failing)
        a_step()
    monkeypatch.undo()
    assert state_of_torch() == before


def test_what_the_program_switches_itself_stays_switched():
    """A grad mode that the block leaks stays leaked, as without the inspector."""
    try:
        with autograd_inspector.inspect():
            torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_modes_that_the_program_leaves_open_stay_open():
    """A mode entered in the block and never left is still there, alone, after the block."""

    class Mine(TorchFunctionMode):
        pass

    mine = Mine()
    try:
        with autograd_inspector.inspect():
            mine.__enter__()
        assert _get_current_function_mode_stack() == [mine]
    finally:
        mine.__exit__(None, None, None)


def test_attributes_that_the_program_replaces_stay_replaced(monkeypatch):
    """A library that patches what we observe keeps its patch."""
    original = Optimizer.zero_grad

    def mine(self, set_to_none=True):
        return original(self, set_to_none)

    with autograd_inspector.inspect():
        Optimizer.zero_grad = mine
    try:
        assert Optimizer.zero_grad is mine
    finally:
        Optimizer.zero_grad = original
