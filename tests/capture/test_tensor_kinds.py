"""Every kind of tensor can be observed."""

import pytest
import torch
from torch import nn

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
