"""What the program lets go of dies at once, while the report lives."""

import contextlib
import gc
import pickle
import sys
import weakref

import pytest
import torch
import torch._dynamo  # its first import keeps frames, and so an optimizer, alive: torch.optim imports it on first use
from torch import nn
from torch.overrides import _get_current_function_mode_stack, handle_torch_function

import autograd_inspector
from autograd_inspector.capture.observers.backward import runs as gradients
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning

pytestmark = pytest.mark.undisturbed


@pytest.fixture(autouse=True)
def no_collector():
    """Reference counting alone must do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def dead(*refs):
    return [ref() is None for ref in refs] == [True] * len(refs)


def test_nothing_of_a_training_step_outlives_the_block():
    """Model, parameters, optimizer, state, activations, loss and gradients die while the report is alive."""
    with autograd_inspector.inspect() as inspection:
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters())
        hidden = model[0](torch.ones(2, 3))
        loss = model[2](model[1](hidden)).sum()
        loss.backward()
        optimizer.step()
    weight = model[0].weight
    things = (model, model[0], weight, weight.grad, optimizer.state[weight]["exp_avg"], optimizer, hidden, loss)
    refs = [weakref.ref(thing) for thing in things]
    del things, weight, model, optimizer, hidden, loss
    assert dead(*refs)
    assert inspection.report.capture.steps


def test_activations_die_inside_the_block_too():
    """The capture itself holds nothing: what a step drops is gone before the block ends."""
    with autograd_inspector.inspect():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        ref, storage = weakref.ref(y), y.untyped_storage()._weak_ref()
        y.sum().backward()
        del y
        assert ref() is None
        assert torch.UntypedStorage._expired(storage)
    torch.UntypedStorage._free_weak_ref(storage)


def test_an_exception_keeps_no_more_alive_than_without_the_inspector():
    """A traceback that somebody keeps (as IPython does) holds no frame of ours, and so no tensor through it."""
    kept = None
    try:
        with autograd_inspector.inspect():
            hidden = torch.ones(2, 3, requires_grad=True).exp()
            ref = weakref.ref(hidden)
            del hidden
            torch.mm(torch.ones(2, 3, requires_grad=True).exp(), torch.ones(7, 7))
    except RuntimeError as error:
        kept = error
    assert ref() is None
    frames = []
    traceback = kept.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    assert set(frames) == {__file__}


@pytest.mark.parametrize("fails", ["step", "backward", "inspector"])
def test_nothing_is_kept_after_a_failure(fails, monkeypatch):
    """A step that raised, a failed backward, a failed inspector: none of them keeps the model alive."""
    refs = []

    def train():
        model = nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters())
        loss = model(torch.ones(2, 3)).exp().sum()
        refs.extend(weakref.ref(thing) for thing in (model, model.weight, optimizer, loss))
        loss.backward()
        if fails == "backward":
            loss.backward()
        optimizer.step()
        optimizer.state[model.weight]["exp_avg"] = torch.ones(1, 3, dtype=torch.float64)
        if fails == "step":
            optimizer.step()

    def failing(*_args, **_kwargs):
        raise ZeroDivisionError("injected")

    inspection = autograd_inspector.inspect()
    if fails == "inspector":
        monkeypatch.setattr(gradients.Engine, "_begin", failing)
        with pytest.warns(InspectorWarning), inspection:
            train()
    else:
        try:
            with inspection:
                train()
        except RuntimeError:
            pass
    assert dead(*refs)
    assert inspection.report.capture.ops


def test_the_report_holds_no_tensor_at_all():
    """Nothing that a report refers to, however far, is a tensor, a module, a graph node or a frame."""
    with autograd_inspector.inspect() as inspection:
        model = nn.Sequential(nn.Linear(3, 1))
        model(torch.ones(2, 3)).sum().backward()
    seen, left = set(), [inspection.report]
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, type):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, (torch.Tensor, nn.Module)), thing
        assert type(thing).__name__ not in {"frame", "traceback", "AddmmBackward0", "AccumulateGrad"}
        left += gc.get_referents(thing) if not callable(thing) else []


def overridable():
    """A function that hands itself to torch's modes, as torch's own do, and what it closes over."""
    held = torch.ones(3)

    def function(x):
        if len(_get_current_function_mode_stack()) or torch._C._len_torch_function_stack():
            return handle_torch_function(function, (x,), x)
        return x * held

    return function, weakref.ref(held)


def test_a_function_of_the_programs_that_came_through_the_recorder():
    """Nobody remembers it, nor the tensors that it closes over: it dies inside the block."""
    with autograd_inspector.inspect() as inspection:
        function, held = overridable()
        function(torch.ones(3))
        del function
        gc.collect()
        assert held() is None
    assert [op.name for op in inspection.report.capture.ops] == ["ones", "ones", "function"]


def tables():
    """The size of each table of the capture's modules, and of each cache that has no bound."""
    sizes = {}
    for name, module in [*sys.modules.items()]:
        if name.startswith("autograd_inspector.capture"):
            for key, value in vars(module).items():
                if isinstance(value, (dict, list, set)) and not key.startswith("__"):
                    sizes[name, key] = len(value)
                elif hasattr(value, "cache_info") and value.cache_info().maxsize is None:
                    sizes[name, key] = value.cache_info().currsize
    return sizes


def test_no_table_grows_with_what_programs_do(tmp_path):
    """Shapes, functions and the names in foreign files: what a process has seen of them is forgotten."""

    def program(first):
        for number in range(first, first + 40):
            torch.ones(number, 3)
            overridable()[0](torch.ones(3))

    def opens(first):
        for number in range(first, first + 40):
            path = tmp_path / f"{number}.pt"
            data = pickle.dumps({}, protocol=2)
            storage = f"ctorch\nStorage{number}\n".encode()
            path.write_bytes(
                b"\x80\x02(X\x07\x00\x00\x00storage"
                + storage
                + b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ."
                + data
            )
            with contextlib.suppress(Exception):
                autograd_inspector.inspect_checkpoint(path, nn.Linear(1, 1), None)

    def run(first):
        with autograd_inspector.inspect():
            program(first)
        opens(first)

    run(1)
    before = tables()
    run(100)
    assert {name for name, size in tables().items() if size - before.get(name, 0) >= 40} == set()


def test_nothing_of_a_capture_outlives_its_report():
    """Captures of one model, one after the other, leave nothing of themselves, however each of them ends."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())

    def recordings():
        gc.collect()
        return sum(type(each).__name__ == "Recording" for each in gc.get_objects())

    def capture(*, failing):
        with contextlib.suppress(ZeroDivisionError), autograd_inspector.inspect():
            optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            _ = 1 / (not failing)

    before = recordings()
    for failing in (False, True, False):
        capture(failing=failing)
        assert recordings() == before
