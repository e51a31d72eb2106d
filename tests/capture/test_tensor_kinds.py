"""Every kind of tensor can be observed."""

import pytest
import torch
from torch import nn

import autograd_inspector
from tests.capture.observe import names, observe


def sparse():
    embedding = nn.Embedding(5, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(embedding.parameters()))
    embedding(torch.tensor([1, 2])).sum().backward()
    optimizer.step()
    matrix = torch.eye(3).to_sparse().requires_grad_()
    torch.sparse.mm(matrix, torch.ones(3, 3)).exp().sum().backward()
    torch.eye(3).to_sparse_csr() @ torch.ones(3, 3)


def complex_numbers():
    (torch.ones(3, dtype=torch.complex64, requires_grad=True) * 1j).exp().abs().sum().backward()


def jagged():
    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
    nested.exp().values().sum().backward()


def strided_nested():
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], requires_grad=True)
    (nested * 2).to_padded_tensor(0.0).exp().sum().backward()


def quantized():
    torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).dequantize().exp()


def scalars_and_empty():
    empty = torch.empty(0, 3, requires_grad=True)
    (empty.exp().sum() + torch.tensor(2.0, requires_grad=True)).backward()


def inference():
    with torch.inference_mode():
        made = torch.ones(3).exp()
    made * 2
    made[0]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        torch.ones(3, requires_grad=True) * made


def meta():
    torch.ones(3, device="meta", requires_grad=True).exp().sum().backward()


def expanded():
    torch.ones(1, requires_grad=True).expand(4, 4).exp().T.sum().backward()


def lazy():
    layer = nn.LazyLinear(3)
    layer(torch.ones(2, 4)).exp().sum().backward()


def deep_copied():
    import copy

    x = torch.ones(3, requires_grad=True)
    copy.deepcopy(x).exp().sum().backward()


KINDS = (
    sparse,
    complex_numbers,
    jagged,
    strided_nested,
    quantized,
    scalars_and_empty,
    inference,
    meta,
    expanded,
    lazy,
    deep_copied,
)


@pytest.mark.filterwarnings("ignore:.*(nested tensors|Sparse CSR|quantized tensor|quantize_per_tensor).*")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_tensor_of_any_kind(kind):
    """It is recorded like any other; the report can be written and read."""
    capture = observe(kind)
    assert "exp" in names(capture)
    assert not capture.notes


def test_sizes_of_views_and_of_what_has_none():
    """Bytes count the elements of the tensor itself; the extent is what it spans in its storage."""
    capture = observe(lambda: (torch.zeros(4, 4)[:, :2].exp(), torch.zeros(0).sin()))
    (view,) = [capture.tensors[op.inputs[0]] for op in capture.ops if op.name == "exp"]
    assert (view.nbytes, view.offset, view.extent) == (32, 0, 56)
    (empty,) = [capture.tensors[op.inputs[0]] for op in capture.ops if op.name == "sin"]
    assert (empty.nbytes, empty.extent) == (0, 0)


def test_inference_tensors_are_told():
    """A tensor made in inference mode is marked: it has no version and no history, for good."""
    capture = observe(inference)
    (made,) = [capture.tensors[op.outputs[0]] for op in capture.ops if op.name == "exp"]
    assert made.inference


READ = [
    "shape", "dtype", "device", "layout", "requires_grad", "is_leaf", "grad", "grad_fn", "_version", "_base",
    "retains_grad", "is_sparse", "stride", "storage_offset", "numel", "element_size", "is_contiguous", "is_inference",
    "_is_view", "untyped_storage", "_backward_hooks", "_post_accumulate_grad_hooks", "_fix_weakref",
]  # fmt: skip


class Refusal(Exception):
    """What a program's own attribute raises."""


def refusing(name):
    """A subclass whose attribute of that name raises."""

    def refuses(_):
        raise Refusal(name)

    disabled = {"__torch_function__": torch._C._disabled_torch_function_impl}
    return type("Refusing", (torch.Tensor,), {name: property(refuses), **disabled})


@pytest.mark.parametrize("values", [False, True], ids=["metadata", "values"])
@pytest.mark.parametrize("name", READ)
def test_a_subclass_whose_attribute_raises(name, values):
    """It is recorded with what torch itself knows of it."""
    x = torch.ones(2, 3).as_subclass(refusing(name))
    torch.Tensor.requires_grad_(x)
    with autograd_inspector.inspect(values=values) as inspection:
        loss = torch.sum(torch.exp(x) * 2)
        torch.autograd.backward(loss)
    capture = inspection.report.capture
    assert names(capture)[:3] == ["exp", "mul", "sum"]
    assert not capture.stopped
    assert [node.name for node in capture.graph_of(capture.backwards[0]).nodes][-1].endswith("AccumulateGrad")
    (record,) = [tensor for tensor in capture.tensors if tensor.id == capture.ops[0].inputs[0]]
    assert (record.shape, record.dtype, record.device, record.requires_grad) == ((2, 3), "float32", "cpu", True)
    inspection.report.to_text()


@pytest.mark.parametrize("values", [False, True], ids=["metadata", "values"])
def test_a_wrapper_that_fails_to_answer(values):
    """Its sizes are unknown, and so is no other tensor's."""

    class Failing(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(
                cls, (2, 3), dtype=torch.float64, dispatch_sizes_strides_policy="sizes", dispatch_device=True
            )

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.exp.default:
                return torch.ones(4)
            raise Refusal(str(func))

    x = Failing()
    with autograd_inspector.inspect(values=values) as inspection:
        torch.exp(x).sin()
    capture = inspection.report.capture
    assert not capture.stopped
    assert names(capture) == ["exp", "sin"]
    shapes = {tensor.dtype: tensor.shape for tensor in capture.tensors}
    assert shapes == {"float64": (), "float32": (4,)}
