"""What C records is what Python records, whatever the program is and however a call ends."""

import gc
import linecache
import os
import signal
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from hashlib import sha256
from random import Random

import msgspec
import pytest
import torch
from torch import Tensor, nn

import autograd_inspector
from autograd_inspector.capture import native
from autograd_inspector.capture.graph_walk.regions import Borders
from autograd_inspector.capture.graph_walk.saved_tensors import SavedTensors
from autograd_inspector.capture.native.putting_in import REASON, pure_python
from autograd_inspector.capture.observers.calls.ops import Recorder
from tests.fuzz.programs import program_of
from tests.fuzz.running import run
from tests.stories.catalogue import STORIES
from tests.undisturbed.programs import PROGRAMS

needs_native = pytest.mark.skipif(bool(REASON), reason=f"Python records here: {REASON}")


def told(capture):
    """All that a capture holds, but how long it took, and the names that each run of a program gives its file."""
    return {
        name: msgspec.to_builtins(getattr(capture, name), str_keys=True)
        for name in capture.__struct_fields__
        if name not in {"seconds", "notes"}
    }


def tape(program):
    """The capture of a run, and how it ended."""
    torch.manual_seed(0)
    error = None
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            program()
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    return told(inspection.report.capture), error


def text_of(ended):
    """The tape of a random program, and how it ended: its file has another name at each run."""
    text = msgspec.json.encode((told(ended.report.capture), ended.error_text))
    return text.replace(ended.filename.encode(), b"<program>")


def by_each(call, *first):
    """What a call returns whose captures are recorded in C, and what it returns where they are recorded in Python.

    Each is made from the same line, which is part of every stack, and in a thread of its own, where autograd counts
    from 0. ``first``: how else it is called before, which does not count.
    """
    ended = []
    for recording in (*first, nullcontext, pure_python):
        with recording(), ThreadPoolExecutor(1) as thread:
            ended.append(thread.submit(call).result())
    return ended[len(first) :]


def assert_same(program):
    """Both record the same; the first run is left out, in which libraries are imported and caches are filled."""
    compiled, python = by_each(lambda: tape(program), nullcontext)
    for name, value in python[0].items():
        assert compiled[0][name] == value, name
    assert compiled[1] == python[1]
    return compiled


def views():
    """Several results, views of one memory, slices by a computed number, an edit in place."""
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    first, second = (x * 2).split(2, dim=1)
    y = torch.cat([first, second], dim=1)
    y[int(y.detach().argmin()) :].add_(1, alpha=2)
    values, places = y.max(dim=1)
    return (values.sum() + y.t()[0].mean() + places.float().mean()).backward()


def cuts():
    """What ends a history: detach, no_grad, item, an integer result, and inference mode."""
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        view = x.view(3)
    with torch.inference_mode():
        z = torch.ones(3) * 3
        z.add_(1)
    number = (x.detach() + y).sum().item()
    (x * number + view + z.clone()).sum().backward()


def raising():
    """A call that torch refuses, after others."""
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2).exp()
    y += 1
    return torch.mm(y, y)


def modified():
    """A saved tensor is modified: backward raises."""
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


class Marked(Tensor):
    """A subclass whose calls go through torch's own handler."""


class Counting(torch.overrides.TorchFunctionMode):
    """A mode of the program's own."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def kinds():
    """Subclasses, sparse tensors, parameters, functions in Python, a mode, a transform, a list of many tensors."""
    x = torch.ones(3, 3).as_subclass(Marked).requires_grad_()
    weight = nn.Parameter(torch.ones(3, 3))
    y = (x @ weight).relu() + torch.ones(3, 3).to_sparse()
    with Counting():
        y = torch.nn.functional.softmax(y, dim=0)
    torch.func.vmap(lambda row: row * 2)(torch.ones(3, 3, requires_grad=True)).sum().backward()
    many = torch.stack([weight[0] * place for place in range(50)])
    assert torch.equal(weight, weight)
    return (y.sum() + many.sum()).backward()


def threads_of_modules():
    """Modules within modules, whose outer frames are read once."""
    net = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.GRUCell(3, 3), nn.LayerNorm(3))
    for _ in range(2):
        net(torch.ones(2, 3)).sum().backward()


def deep(levels=70):
    """A call from far below the block."""
    return deep(levels - 1) if levels else torch.ones(2, requires_grad=True).exp().sum().backward()


def autocast():
    """Autocast casts below the calls."""
    net = nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.ones(2, 4)).float().pow(2).mean()
    loss.backward()


def handing_on():
    """Modes that hand on what they were given, or call something else, with errors, and a subclass that does."""

    class Other(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return torch.mul(func(*args, **(kwargs or {})), 2)

    x = torch.ones(3, 3, requires_grad=True)
    for _ in range(2):
        with Counting():
            y = torch.exp(x) + x
            with Counting():
                y = y * x
        with Other():
            y = y.cos() + y
    with Counting(), pytest.raises(RuntimeError):
        torch.mm(y, torch.ones(2, 2))
    y.sum().backward()


class Doubling(torch.autograd.Function):
    """A custom Function that saves two tensors, and keeps one beside."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        ctx.beside = x * 2
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        x, factor = ctx.saved_tensors
        return gradient * factor, gradient * x


def nodes():
    """Nodes of every kind between usual ones: custom, batch norm, hooks, views, an output, a transposed weight."""
    x, weight = torch.ones(4, 4, requires_grad=True), nn.Parameter(torch.ones(4, 4))
    norm = nn.BatchNorm1d(4)
    y = norm(Doubling.apply(x.exp() @ weight.t(), weight.sigmoid()))
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor + 1, lambda tensor: tensor - 1):
        y = y.tanh() * x
    y = torch.cat([y[:, ::2] ** 2, y.add(1).relu_()[1:, :2], y.new_zeros(0, 2)])
    y = torch.utils.checkpoint.checkpoint(lambda value: value.sin().cos(), y, use_reentrant=False)
    y = nn.functional.layer_norm(y, (2,)) + y.data.mul_(2) + torch.full((2,), 3, dtype=torch.float64)
    return y.double().mean().backward()


def again():
    """Graphs that are walked again: kept, grown, of gradients, from before the capture, with what was written since."""
    x = torch.ones(3, requires_grad=True)
    loss = (x.exp() * OLDER).sum()
    loss.backward(retain_graph=True)
    (loss.log() * 2).backward(retain_graph=True)
    (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
    gradient.pow(2).sum().backward(retain_graph=True)
    with torch.no_grad():
        x.mul_(2)
    loss.backward(retain_graph=True)


def long_and_wide():
    """More nodes along one path than a walk opens, more inputs of one, and several paths of different length."""
    x = y = z = torch.ones(2, requires_grad=True)
    for _ in range(5_300):
        y = y + x
    for _ in range(4):
        z = (z * y).relu()
    torch.stack([z, y, *(x * place for place in range(300))]).sum().backward()
    torch.cat([(x * 2)[:1]] * 20_001).sum().backward()


OLDER = torch.ones(3, requires_grad=True).exp() * 2
"""Has a graph from before each capture."""
SMALL = (
    nodes,
    again,
    long_and_wide,
    handing_on,
    views,
    cuts,
    raising,
    modified,
    kinds,
    threads_of_modules,
    deep,
    autocast,
)


@needs_native
@pytest.mark.parametrize("program", SMALL, ids=lambda program: program.__name__)
def test_small_programs(program):
    """Every op and fact of a program is the same, and so is its exception."""
    capture, _ = assert_same(program)
    assert capture["ops"]


@needs_native
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_training_programs(program):
    """The same of training and evaluation steps of every kind that is proven to be undisturbed."""
    assert_same(program)


@needs_native
@pytest.mark.stories
@pytest.mark.parametrize("story", [story for story in STORIES if story.number == 1], ids=lambda story: story.slug)
def test_stories(story):
    """The same of a real training loop, broken and repaired."""
    for program in (story.broken, story.repaired):
        assert_same(program)


@needs_native
def test_random_programs():
    """The same of random programs, with their errors."""
    for seed in range(80):
        compiled, python = by_each(lambda seed=seed: text_of(run(program_of(Random(seed)), inspected=True)))
        assert compiled == python, seed
    linecache.checkcache()


@needs_native
def test_the_usual_calls_are_recorded_in_c(monkeypatch):
    """Python sees the first call of each function, and of the calls after it none."""
    seen = []
    record = Recorder.record
    monkeypatch.setattr(Recorder, "record", lambda *args, **kwargs: seen.append(args[4]) or record(*args, **kwargs))
    with autograd_inspector.inspect():
        x = torch.ones(3, requires_grad=True)
        for _ in range(20):
            x = (x + 1) * torch.exp(x)
    assert sorted(seen) == ["add", "exp", "mul", "ones"]


@needs_native
def test_the_usual_nodes_are_walked_in_c(monkeypatch):
    """Python reads the first node of each kind, and of those after it none."""
    seen = []
    read = SavedTensors.of
    monkeypatch.setattr(SavedTensors, "of", lambda self, node, made: seen.append(node.name()) or read(self, node, made))
    with autograd_inspector.inspect() as inspection:
        x = y = torch.ones(3, requires_grad=True)
        for _ in range(20):
            y = (y * x).exp()
        y.sum().backward()
    assert sorted(seen) == ["ExpBackward0", "MulBackward0", "SumBackward0", "torch::autograd::AccumulateGrad"]
    assert len(inspection.report.capture.nodes) == 42


@needs_native
@pytest.mark.parametrize("struck", [KeyboardInterrupt, RuntimeError])
def test_what_is_raised_in_the_middle_of_a_walk(monkeypatch, struck):
    """An interrupt is the program's, a failure is a note; the garbage collector is on again."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)

    def strike(*_):
        raise struck("now")

    x = torch.ones(3, requires_grad=True)
    inspection = autograd_inspector.inspect()
    with pytest.raises(KeyboardInterrupt) if struck is KeyboardInterrupt else nullcontext(), inspection:
        y = Doubling.apply(x.exp(), x).sin()
        monkeypatch.setattr(Borders, "led", strike)
        (y * 2).sum().backward()
    assert gc.isenabled()
    assert struck is KeyboardInterrupt or any("RuntimeError" in note for note in inspection.report.capture.notes)


def counts(objects):
    gc.collect()
    return [sys.getrefcount(each) for each in objects]


@needs_native
def test_references_are_given_back():
    """Many calls, of which some raise, leave no count of a tensor, a function, a result or a number behind."""
    x, weight, text = torch.ones(3, requires_grad=True), nn.Parameter(torch.ones(3)), "cpu"
    kept = [x, weight, text, Tensor.add, torch.mm, None, True, False, (), Tensor, nn.Parameter, test_small_programs]

    def calls(count):
        with autograd_inspector.inspect():
            for _ in range(count):
                y = torch.add(x, weight, alpha=2)
                y.add_(1)
                torch.stack((y, x)).unbind()
                torch.equal(x, weight)
                (y.exp() * weight).sum().backward()
                with pytest.raises(RuntimeError):
                    torch.mm(x, weight)

    calls(10)
    before = counts(kept)
    calls(400)
    after = counts(kept)
    assert max(abs(one - other) for one, other in zip(before, after, strict=True)) < 100


@needs_native
def test_nothing_is_kept_alive():
    """A tensor dies with its last name, and a capture's handler with the capture."""

    def handlers():
        gc.collect()
        return sum(type(each).__name__ == "Handler" for each in gc.get_objects())

    before = handlers()
    with autograd_inspector.inspect():
        x = torch.ones(3)
        y = x + 1
        y = y + 1
        alive = weakref.ref(y)
        del y
        assert alive() is None
    assert handlers() == before


@needs_native
def test_memory_stays_level():
    """A long run in steps has room for its records, and for nothing else: what is folded is let go of."""
    torch.manual_seed(0)
    psutil = pytest.importorskip("psutil")
    net = nn.Linear(4, 4)

    def steps(count):
        with autograd_inspector.inspect():
            for _ in range(count):
                net(torch.ones(2, 4)).sum().backward()
                net.zero_grad()
        gc.collect()
        return psutil.Process().memory_info().rss

    steps(300)
    first = steps(300)
    assert [steps(300) for _ in range(4)][-1] - first < 8 << 20


@needs_native
def test_an_interrupt_from_below_a_call_leaves_the_block():
    """KeyboardInterrupt is the program's, whether a signal or a function that torch calls raises it."""

    class Striking:
        def __index__(self):
            signal.raise_signal(signal.SIGINT)
            return 1

    x = torch.ones(3, requires_grad=True)
    inspection = autograd_inspector.inspect()

    def program():
        with inspection:
            y = x[1:]
            y[Striking() :]

    with pytest.raises(KeyboardInterrupt):
        program()
    assert [(op.name, op.error) for op in inspection.report.capture.ops] == [
        ("__getitem__", ""),
        ("__getitem__", "KeyboardInterrupt"),
    ]


@needs_native
def test_a_failure_of_ours_is_no_failure_of_the_programs(monkeypatch):
    """Where recording a call that returned fails, its result is the program's, and the capture ends with a note."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    from autograd_inspector.capture.lines.stacks import Stacks

    x = torch.ones(3)
    inspection = autograd_inspector.inspect()
    with inspection:
        x = x + 1
        monkeypatch.setattr(Stacks, "_intern", lambda *_: 1 / 0)
        x = x + 1
        monkeypatch.undo()
        x = x + 1
    assert x.tolist() == [4, 4, 4]
    assert any("ZeroDivisionError" in note for note in inspection.report.capture.notes)


def reason(**variables):
    program = "from autograd_inspector.capture.native import compiled; print(compiled()[1])"
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def test_the_switch():
    """An environment variable leaves everything to Python."""
    assert reason(AUTOGRAD_INSPECTOR_PURE_PYTHON="1") == "switched off by AUTOGRAD_INSPECTOR_PURE_PYTHON"
    assert reason(AUTOGRAD_INSPECTOR_PURE_PYTHON="0") == REASON or "AUTOGRAD_INSPECTOR_PURE_PYTHON" in os.environ


@needs_native
def test_another_torch_than_it_knows():
    """Where an attribute of a tensor is not torch's own in C, it is not used, and the package works."""
    from autograd_inspector.capture.native import _native
    from autograd_inspector.capture.native.known import known

    try:
        with pytest.raises(TypeError, match="get_version is no attribute of torch's in C"):
            _native.configure(**{**known(), "get_version": property(lambda tensor: 0)})
        with pytest.raises(KeyError, match="apart"):
            _native.configure(**{name: value for name, value in known().items() if name != "apart"})
    finally:
        _native.configure(**known())


@needs_native
def test_a_file_compiled_from_an_older_source(monkeypatch, tmp_path):
    """It is not used: what it does in C may be another thing than what Python does now."""
    monkeypatch.delenv(native.SWITCH, raising=False)
    newer = tmp_path / "_native.c"
    newer.write_text("int changed;")
    monkeypatch.setattr(native, "source_digest", lambda: sha256(newer.read_bytes()).hexdigest())
    assert native.compiled() == (None, "compiled from an older source: run `pip install -e .` again")


@needs_native
def test_an_installed_package_has_no_source_beside(monkeypatch):
    """What was compiled with the wheel is used."""
    monkeypatch.delenv(native.SWITCH, raising=False)
    monkeypatch.setattr(native, "source_digest", lambda: "")
    assert native.compiled()[1] == ""


@needs_native
def test_what_is_known_does_not_change_when_c_is_put_in():
    """C told of itself as the function in Python would call itself for whatever is unusual, without an end."""
    from autograd_inspector.capture.native.known import REPLACED, known

    given = known()
    assert (given["walked"], given["added"]) == (REPLACED[0][2], REPLACED[1][2])
    assert not [name for name in ("walked", "added") if not hasattr(given[name], "__code__")]


@needs_native
def test_an_import_anew_leaves_what_is_in_use():
    """The functions that it finds then are those in C."""
    code = (
        "import sys, torch; from torch._subclasses.fake_tensor import FakeTensorMode\n"
        "import autograd_inspector\n"
        "def names():\n"
        "    with autograd_inspector.inspect() as inspection, FakeTensorMode():\n"
        "        torch.nn.Linear(3, 2)(torch.ones(4, 3)).sum().backward()\n"
        "    return [op.name for op in inspection.report.capture.ops][-2:]\n"
        "assert names() == ['linear', 'sum']\n"
        "for module in ('putting_in', 'known'):\n"
        "    sys.modules.pop(f'autograd_inspector.capture.native.{module}', None)\n"
        "import autograd_inspector.capture.native.putting_in as again; again.put_in()\n"
        "assert names() == ['linear', 'sum']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
