"""``values=True`` with tensors of every kind: what can be read is read, and nothing else happens."""

import contextlib

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.masked import masked_tensor
from torch.testing._internal.two_tensor import TwoTensor

import autograd_inspector
from autograd_inspector.capture.recording.values import Values

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(nested tensors|Sparse|quantized|quantize_per|MaskedTensor|maskedtensor).*"
)

NAN = float("nan")


class Attributed(torch.Tensor):
    """A subclass that only carries something along."""


class Dispatching(torch.Tensor):
    """A subclass with values of its own, below which it takes part."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


def faults(program):
    """What was found not to be finite, by the op that made it or met it; the inspection must be whole."""
    with autograd_inspector.inspect(values=True) as inspection:
        program()
    capture = inspection.report.capture
    assert not capture.stopped
    assert capture.values_read
    inspection.report.to_text()
    return [capture.ops[max(fault.op, fault.met_by)].name for fault in capture.value_faults]


def nested(layout):
    return lambda x: torch.nested.nested_tensor([x, x[:1]], layout=layout)


READABLE = {
    "float32": lambda x: x,
    "float64": torch.Tensor.double,
    "float16": torch.Tensor.half,
    "bfloat16": torch.Tensor.bfloat16,
    "float8_e4m3fn": lambda x: x.to(torch.float8_e4m3fn),
    "float8_e5m2": lambda x: x.to(torch.float8_e5m2),
    "complex": lambda x: torch.complex(torch.zeros_like(x), x),
    "conjugate": lambda x: torch.complex(x, x).conj(),
    "negative": lambda x: torch.complex(x, x).conj().imag,
    "strided view": lambda x: x.expand(4, 3).T,
    "COO": torch.Tensor.to_sparse,
    "CSR": lambda x: x[None].to_sparse_csr(),
    "CSC": lambda x: x[None].to_sparse_csc(),
    "BSR": lambda x: x[None].to_sparse_bsr((1, 1)),
    "BSC": lambda x: x[None].to_sparse_bsc((1, 1)),
    "strided nested": nested(torch.strided),
    "jagged": nested(torch.jagged),
    "masked": lambda x: masked_tensor(x, torch.ones(3, dtype=torch.bool)),
    "subclass": lambda x: x.as_subclass(Attributed),
    "dispatching": lambda x: x.as_subclass(Dispatching),
    "parameter": nn.Parameter,
}


@pytest.mark.parametrize("kind", READABLE.values(), ids=READABLE)
@pytest.mark.parametrize(("value", "found"), [(NAN, True), (1.0, False)], ids=["nan", "sound"])
def test_a_kind_that_can_be_read(kind, value, found):
    """A NaN that comes in such a tensor is found, and none where there is none."""
    x = kind(torch.tensor([1.0, value, 2.0]))
    assert faults(x.clone) == (["clone"] if found else [])


def meta():
    (torch.full((3,), NAN, device="meta", requires_grad=True) * 2).sum().backward()


def fake():
    with FakeTensorMode():
        layer = nn.Linear(3, 2)
        (layer(torch.ones(4, 3)) / 0).sum().backward()


def mapped():
    torch.func.vmap(lambda x: (x / 0).relu())(torch.ones(2, 3))


def differentiated():
    torch.func.grad(lambda x: (x / 0).relu().sum())(torch.ones(3))
    torch.func.jvp(torch.log, (torch.zeros(3),), (torch.ones(3),))


def wrapped():
    x = TwoTensor(torch.ones(3), torch.ones(3)).requires_grad_()
    (x / 0).sum().backward()


def quantized():
    torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).clone()


def whole_numbers():
    torch.ones(3, dtype=torch.bool).logical_not()
    torch.arange(3) + 1
    torch.empty(0).exp()


@pytest.mark.parametrize(
    "program",
    [meta, fake, mapped, differentiated, wrapped, quantized, whole_numbers],
    ids=lambda program: program.__name__,
)
def test_a_kind_without_values_to_read(program):
    """Nothing is read, nothing is found, nothing fails, and the program is not told."""
    assert faults(program) == []


def test_what_a_mask_hides():
    """It is no value of the tensor's; what the mask shows is."""
    mask = torch.tensor([True, False])
    hidden, shown = masked_tensor(torch.tensor([1.0, NAN]), mask), masked_tensor(torch.tensor([NAN, 1.0]), mask)
    assert faults(hidden.neg) == []
    assert faults(shown.neg) == ["neg"]


@contextlib.contextmanager
def default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextlib.contextmanager
def default_device():
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(None)


SETTINGS = {
    "default device": default_device,
    "device context": lambda: torch.device("meta"),
    "default dtype": default_dtype,
    "deterministic": deterministic,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "no_grad": torch.no_grad,
    "inference mode": torch.inference_mode,
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
}


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("place", ["around", "inside"])
def test_a_setting_of_the_programs(setting, place):
    """It makes no difference to what is read, what is read makes none to it, and no random number is drawn."""
    x = torch.tensor([0.0, 1.0], requires_grad=True)

    def program():
        made = x.log()
        return made.dtype, made.device, made.requires_grad, torch.is_grad_enabled(), torch.get_default_dtype()

    def run(capture):
        outer, inner = (
            (setting(), contextlib.nullcontext()) if place == "around" else (contextlib.nullcontext(), setting())
        )
        with outer, capture as inspection, inner:
            before = torch.get_rng_state()
            result = program()
            assert torch.equal(torch.get_rng_state(), before)
        return inspection, result

    _, plain = run(contextlib.nullcontext())
    inspection, inspected = run(autograd_inspector.inspect(values=True))
    assert inspected == plain
    capture = inspection.report.capture
    assert not capture.stopped
    assert "log" in [capture.ops[fault.op].name for fault in capture.value_faults]


def test_a_gradient_of_any_layout():
    """Its norm is that of the gradient: of a sparse one with an index twice, of the sum there."""
    embedding = nn.Embedding(3, 2, sparse=True)
    with autograd_inspector.inspect(values=True) as inspection:
        embedding(torch.tensor([1, 1])).sum().backward()
    (leaf,) = inspection.report.capture.leaf_values
    assert leaf.norm == pytest.approx(8**0.5)
    assert not leaf.zero
    assert not leaf.nonfinite


def test_a_hook_of_ours_that_fails_is_no_error_of_backward(monkeypatch):
    """The gradients are as without us."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)

    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(Values, "passed", fails)
    x = torch.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="stopped recording"), autograd_inspector.inspect(values=True):
        x.exp().sum().backward()
    assert torch.equal(x.grad, x.detach().exp())
