"""What Dynamo guards and compiles is, guard by guard, what it would be without the inspector."""

from __future__ import annotations

import contextlib
import re
import warnings

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.convert_frame import ConvertFrame, register_bytecode_hook
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector.own_files import is_own_file

_OWN = re.compile(r"0x[0-9a-f]+|\d{9,}|__optimizer_\w+|(?<=___)\d+")
"""Addresses and torch's running numbers: the same program has others when it runs again."""


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Compilations:
    """Notes what Dynamo would guard each time that it compiles, and what it guards in the end."""

    def __init__(self):
        self.asked = []
        self._codes = []

    def filter(self, entries):
        """Torch's ``guard_filter_fn``: it keeps them all. Guards of one name come in an order that addresses give."""
        told = ((_OWN.sub("#", each.name), each.guard_type, tuple(each.derived_guard_types or ())) for each in entries)
        self.asked.append(sorted(told))
        return [True] * len(entries)

    @contextlib.contextmanager
    def heard(self):
        handle = register_bytecode_hook(lambda code, _: self._codes.append(code))
        try:
            yield
        finally:
            handle.remove()

    def kept(self):
        """All guards of each entry of Dynamo's cache, as torch writes them out."""
        codes = {id(code): code for code in self._codes}.values()
        return [
            (code.co_name, _OWN.sub("#", str(entry.guard_manager)))
            for code in codes
            for entry in _debug_get_cache_entry_list(code)
        ]

    def compile(self, what, backend):
        return torch.compile(what, backend=backend, options={"guard_filter_fn": self.filter})


class Net(nn.Module):
    """Frozen and learned parts, one called twice, a buffer that it writes, a switched grad mode, a graph break."""

    def __init__(self):
        super().__init__()
        self.frozen, self.twice, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)
        self.frozen.requires_grad_(False)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x, *, scale=1.0):
        h = self.twice(torch.relu(self.twice(self.frozen(x))))
        with torch.no_grad():
            self.mean.lerp_(h.mean(0), 0.1)
        print("mean", h.mean().item())
        return self.last(h * scale)


def trained(backend):
    """Sizes, modes, flags and numbers change on the way, and each makes Dynamo compile again."""
    compilations = Compilations()
    torch._dynamo.reset()
    torch.manual_seed(0)
    net = Net()
    model = compilations.compile(net, backend)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=torch.tensor(0.01))
    step = compilations.compile(optimizer.step, backend)
    with compilations.heard():
        for size, scale in ((4, 1.0), (4, 1.0), (5, 1.0), (6, 0.5)):
            optimizer.zero_grad()
            model(torch.randn(size, 4), scale=scale).pow(2).mean().backward()
            step()
        net.frozen.requires_grad_(True)
        model(torch.randn(6, 4)).sum().backward()
        net.eval()
        with torch.no_grad():
            model(torch.randn(6, 4))
    return compilations.asked, compilations.kept()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_the_same_guards(backend, capsys):
    """As many compilations, each with the same guards of the same kinds, and the same trees of checks."""
    asked, kept = trained(backend)
    with autograd_inspector.inspect():
        asked_inside, kept_inside = trained(backend)
    assert len(asked) > 6
    assert asked_inside == asked
    assert len(kept) == len(kept_inside)
    for (name, tree), (inner_name, inner_tree) in zip(kept, kept_inside, strict=True):
        assert (inner_name, inner_tree.splitlines()) == (name, tree.splitlines())


class Doubled(torch.autograd.Function):
    """A backward in Python."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * torch.ones_like(x)


def backward_inside(backend):
    """A step in one compiled function: its backward runs in Python between graphs, where Dynamo looks on."""
    compilations = Compilations()
    torch._dynamo.reset()
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    body.weight.register_hook(lambda grad: grad.clamp(-1, 1))

    def step(x):
        x = x.requires_grad_()
        h = checkpoint(body, x, use_reentrant=False)
        loss = head(torch.tanh(Doubled.apply(h))).pow(2).mean()
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach() + slope.detach().norm()

    compiled = compilations.compile(step, backend)
    counters.clear()
    kept = torch._functorch.config.patch(donated_buffer=False)
    with compilations.heard(), kept, warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        values = [compiled(torch.randn(size, 4)) for size in (3, 3, 5)]
    stats = {name: dict(counters[name]) for name in ("stats", "graph_break", "recompiles")}
    return compilations.asked, compilations.kept(), stats, [str(each.message) for each in met], torch.stack(values)


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_backward_between_graphs(backend, values):
    """Dynamo meets none of our frames where it looks on while the engine runs, and compiles what it would."""
    *plain, result = backward_inside(backend)
    with autograd_inspector.inspect(values=values):
        *seen, result_inside = backward_inside(backend)
    for one, other in zip(plain, seen, strict=True):
        assert other == one
    assert torch.equal(result_inside, result)


@pytest.mark.parametrize("values", [False, True])
def test_dynamo_meets_no_frame_of_ours(values, monkeypatch):
    """Nor of what stands in for Python's own functions: compiling a backward calls these where Dynamo looks on."""
    met, convert = [], ConvertFrame.__call__

    def converting(self, frame, *args, **kwargs):
        met.append(frame.f_code)
        return convert(self, frame, *args, **kwargs)

    monkeypatch.setattr(ConvertFrame, "__call__", converting)
    with autograd_inspector.inspect(values=values):
        backward_inside("aot_eager")
    assert len(met) > 10
    assert [code.co_qualname for code in met if is_own_file(code.co_filename)] == []


def test_what_was_compiled_inside_serves_outside_and_the_other_way_round():
    """No guard holds only in a capture, or only outside of one."""
    compilations, net = Compilations(), nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    model = compilations.compile(net, "aot_eager")
    x = torch.randn(3, 4)

    def step():
        model(x).sum().backward()

    with autograd_inspector.inspect():
        step()
    first = len(compilations.asked)
    step()
    with autograd_inspector.inspect(values=True):
        step()
    with autograd_inspector.inspect(compiled="eager"):
        step()
    step()
    assert (first, len(compilations.asked)) == (1, 1)
