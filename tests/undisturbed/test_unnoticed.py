"""What the inspector reads of tensors, metadata and values, no mode and no tensor subclass of the program notices."""

import contextlib
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.masked import masked_tensor
from torch.overrides import TorchFunctionMode
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint

import autograd_inspector

pytestmark = [
    pytest.mark.undisturbed,
    pytest.mark.filterwarnings("ignore:.*(nested tensors|Sparse|quantized|quantize_per|MaskedTensor|maskedtensor).*"),
]

PACKAGE = Path(autograd_inspector.__file__).parent
LOG: list = []
KEPT: list = []
"""What the programs keep is alive when the inspector takes its last look."""


class Operators(TorchDispatchMode):
    """Writes down every operator."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        LOG.append(("operator", str(func)))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """Writes down every torch function."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        LOG.append(("function", getattr(func, "__qualname__", str(func)), getattr(func, "__self__", None)))
        return func(*args, **(kwargs or {}))


class Answering(torch.Tensor):
    """A wrapper around another tensor that answers for its sizes, its layout and its device itself."""

    @staticmethod
    def __new__(cls, inner, policy="sizes"):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            dtype=inner.dtype,
            device=inner.device,
            dispatch_sizes_strides_policy=policy,
            dispatch_device=True,
            dispatch_layout=True,
        )

    def __init__(self, inner, policy="sizes"):
        self.inner = inner

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        LOG.append(("wrapper", str(func)))

        def unwrapped(value):
            return value.inner if isinstance(value, Answering) else value

        def wrapped(value):
            return Answering(value) if isinstance(value, torch.Tensor) else value

        return tree_map(wrapped, func(*tree_map(unwrapped, args), **tree_map(unwrapped, kwargs or {})))


class Dispatching(torch.Tensor):
    """Its values are its own, and it writes down every operator on them."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        LOG.append(("subclass", str(func)))
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


class Overriding(torch.Tensor):
    """Writes down every torch function that it is given to."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        LOG.append(("override", getattr(func, "__name__", str(func)), getattr(func, "__self__", None)))
        return super().__torch_function__(func, types, args, kwargs or {})


class Watched(torch.Tensor):
    """Writes down every attribute that the inspector asks it for. Torch itself looks for ``__torch_function__``."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __getattribute__(self, name):
        if Path(sys._getframe(1).f_code.co_filename).is_relative_to(PACKAGE) and name != "__torch_function__":
            LOG.append(("attribute", name))
        return super().__getattribute__(name)

    def __eq__(self, other):
        LOG.append(("eq",))
        return self is other

    __hash__ = torch.Tensor.__hash__


class Counted(list):
    """A list that writes down who goes through it."""

    def __iter__(self):
        LOG.append(("iterated",))
        return super().__iter__()


def training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        loss = checkpoint(model, torch.randn(5, 3), use_reentrant=False).softmax(-1).log().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    KEPT.append((model, optimizer, loss))


def without_optimizer():
    model = nn.Linear(3, 2)
    loss = model(torch.ones(4, 3)).sum()
    loss.backward()
    KEPT.append((model, loss))


def modified():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    KEPT.append((x, y))


def sparse():
    embedding = nn.Embedding(5, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(embedding.parameters()))
    embedding(torch.tensor([1, 2, 2])).sum().backward()
    optimizer.step()
    matrix = torch.eye(3).to_sparse().requires_grad_()
    loss = torch.sparse.mm(matrix, torch.ones(3, 3)).exp().sum()
    loss.backward()
    rows = torch.eye(4).to_sparse_csr().requires_grad_()
    (rows @ torch.ones(4, 4)).sum().backward()
    blocks = torch.eye(4).to_sparse_bsr((2, 2)) @ torch.ones(4, 4)
    KEPT.append((embedding, optimizer, matrix, loss, rows, blocks))


def nested(layout):
    def program():
        x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=layout, requires_grad=True)
        y = (x * 2).to_padded_tensor(0.0).exp().sum() if layout is torch.strided else x.exp().values().sum()
        y.backward()
        KEPT.append((x, y))

    return program


def fake():
    with FakeTensorMode():
        layer = nn.Linear(3, 2)
        loss = layer(torch.ones(4, 3)).sum()
        loss.backward()
        KEPT.append((layer, loss))


def transformed():
    torch.func.vmap(torch.func.grad(lambda x: x.exp().sum()))(torch.ones(2, 3))
    torch.func.jvp(torch.sin, (torch.ones(3),), (torch.ones(3),))
    torch.func.functionalize(lambda x: x.clone().mul_(2))(torch.ones(3))


def numbers():
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    y = (x * 1j).conj().exp().abs().sum()
    y.backward()
    small = torch.ones(3).to(torch.float8_e4m3fn)
    KEPT.append((x, y, small, small.to(torch.bfloat16).exp()))
    KEPT.append(torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).dequantize().exp())


def masked():
    x = masked_tensor(torch.tensor([1.0, float("nan")]), torch.tensor([True, False]), requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    KEPT.append((x, y))


def of_class(make):
    def program():
        x = make(torch.ones(3)).requires_grad_()
        optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
        y = (x.exp() * 2).sum()
        torch.stack(Counted([x, x]))
        y.backward()
        optimizer.step()
        x.grad.mul_(2)
        x.data.mul_(2)
        x.register_hook(lambda gradient: None)
        y = x.exp()
        KEPT.append((x, y, optimizer))
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    return program


PROGRAMS = {
    "training": training,
    "without optimizer": without_optimizer,
    "modified": modified,
    "sparse": sparse,
    "strided nested": nested(torch.strided),
    "jagged": nested(torch.jagged),
    "fake": fake,
    "transformed": transformed,
    "numbers": numbers,
    "masked": masked,
    "two": of_class(lambda t: TwoTensor(t, t.clone())),
    "answering": of_class(Answering),
    "answering for strides": of_class(lambda t: Answering(t, "strides")),
    "answering parameter": of_class(lambda t: nn.Parameter(Answering(t))),
    "dispatching": of_class(lambda t: t.as_subclass(Dispatching)),
    "overriding": of_class(lambda t: t.as_subclass(Overriding)),
    "watched": of_class(lambda t: t.as_subclass(Watched)),
}


def around(mode, capture, program):
    with mode(), capture as inspection:
        program()
        LOG.append("end")
    return inspection


def inside(mode, capture, program):
    with capture as inspection:
        with mode():
            program()
        LOG.append("end")
    return inspection


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("mode", [contextlib.nullcontext, Operators, Functions])
@pytest.mark.parametrize("place", [around, inside])
@pytest.mark.parametrize("values", [False, True], ids=["metadata", "values"])
def test_nobody_notices(program, mode, place, values):
    """Modes and subclasses write down the same calls in the same order, up to when the capture is read."""
    seen, inspection = [], None
    for capture in (contextlib.nullcontext(), autograd_inspector.inspect(values=values)):
        LOG.clear()
        KEPT.clear()
        inspection = place(mode, capture, program)
        seen.append(list(LOG))
    report = inspection.report
    assert not report.capture.stopped
    assert report.capture.ops
    report.to_text()
    report.to_json()
    assert seen[1] == seen[0]
    assert seen[0][-1] == "end"
