"""The bytes of a placement are those that torch has allocated."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from autograd_inspector import inspect_model, inspect_optimizer

from .optimizers import CASES

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
BLOCK = 512
"""What torch's CUDA allocator rounds a request up to."""


def tensors_of(value) -> list[Tensor]:
    """Every tensor in a state, however it is nested."""
    if isinstance(value, Tensor):
        return [value._indices(), value._values()] if value.is_sparse else [value]
    if isinstance(value, dict):
        return [tensor for entry in value.values() for tensor in tensors_of(entry)]
    return [tensor for entry in value for tensor in tensors_of(entry)] if isinstance(value, (list, tuple)) else []


def allocated(tensors) -> int:
    """Bytes of the storages behind some tensors, each once."""
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bytes_are_what_torch_allocated(case, dtype):
    """Parameters, gradients and state of an optimizer after a step, each kind as the sum of its storages."""
    network = case.network().to(dtype)
    optimizer = case.make(network.parameters())
    case.step(network, optimizer)
    totals = inspect_optimizer(optimizer, network).placement.totals
    parameters = list(network.parameters())
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    state = [tensor for entries in optimizer.state.values() for tensor in tensors_of(entries)]
    assert totals.whole.parameters == allocated(parameters)
    assert totals.whole.gradients == allocated(tensors_of(gradients))
    assert totals.whole.all == allocated([*parameters, *tensors_of(gradients), *state])
    assert sum(total.all for total in totals.by_device.values()) == totals.whole.all
    assert sum(total.all for total in totals.by_dtype.values()) == totals.whole.all


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: its allocator is what is compared with")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bytes_are_what_the_gpu_allocated(case):
    """On a GPU the sum is the difference in ``torch.cuda.memory_allocated``, up to its blocks of 512 bytes."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    network = case.network().cuda()
    optimizer = case.make(network.parameters())
    case.step(network, optimizer)
    placement = inspect_optimizer(optimizer, network).placement
    found = {}
    for row in placement.rows:
        for held in (row, row.gradient, *row.state):
            if held is not None and held.device.startswith("cuda"):
                found[held.storage] = -(-held.allocated // BLOCK) * BLOCK
    assert sum(found.values()) == torch.cuda.memory_allocated() - before


def test_tied_weights_count_once():
    """A weight that two modules share counts once in the whole, and in the subtree of each."""
    network = nn.ModuleDict({"words": nn.Embedding(6, 4), "head": nn.Linear(4, 6, bias=False)})
    network["head"].weight = network["words"].weight
    totals = inspect_model(network).placement.totals
    assert totals.whole.parameters == 6 * 4 * 4
    assert totals.by_module["words"].parameters == totals.by_module["head"].parameters == 6 * 4 * 4


def test_views_of_one_buffer_count_as_the_buffer():
    """Parameters that are views of a flat buffer: the whole is the buffer, each module its own part."""
    buffer = torch.zeros(100)
    network = nn.ModuleDict({"a": nn.Linear(5, 4, bias=False), "b": nn.Linear(5, 4, bias=False)})
    network["a"].weight = nn.Parameter(buffer[:20].view(4, 5))
    network["b"].weight = nn.Parameter(buffer[20:40].view(4, 5))
    totals = inspect_model(network).placement.totals
    assert totals.whole.parameters == 400
    assert totals.by_module["a"].parameters == totals.by_module["b"].parameters == 80
