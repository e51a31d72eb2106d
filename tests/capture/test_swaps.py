"""What a capture knows of tensors that ``torch.utils.swap_tensors`` has swapped."""

import torch
from torch import nn

import autograd_inspector


def test_a_swapped_parameter_is_known_as_it_is_now():
    """The object keeps its number and its name; memory, dtype, shape and requires_grad are those that it got."""
    with autograd_inspector.inspect() as inspection:
        model = nn.Linear(2, 2)
        model(torch.ones(1, 2))
        old = model.weight.detach()
        new = nn.Parameter(torch.zeros(3, 2, dtype=torch.float64), requires_grad=False)
        kept = new.detach()
        torch.utils.swap_tensors(model.weight, new)
        model.bias = None
        model(torch.ones(1, 2, dtype=torch.float64))
    capture = inspection.report.capture
    (weight,) = [t for t in capture.tensors if t.names == ("weight",)]
    assert (weight.shape, weight.dtype, weight.requires_grad) == ((3, 2), "float64", False)
    first, second = [op for op in capture.ops if op.name == "linear"]
    assert weight.id in first.inputs
    assert weight.id in second.inputs
    storages = {t.storage for op in capture.ops if op.name == "detach" for t in [capture.tensors[op.outputs[0]]]}
    assert weight.storage in storages
    (change,) = [c for c in capture.requires_grad_changes if c.tensor == weight.id]
    assert not change.requires_grad
    assert old.shape != kept.shape


def test_versions_after_a_swap_are_those_of_the_new_memory():
    """Writes before the swap belong to what the tensor was; a healthy step after it is no modification."""
    with autograd_inspector.inspect() as inspection:
        w = nn.Parameter(torch.ones(3))
        with torch.no_grad():
            for _ in range(3):
                w.mul_(2)
        torch.utils.swap_tensors(w, nn.Parameter(torch.ones(3)))
        (w * w).sum().backward()
    assert not inspection.report.findings
    assert not inspection.report.capture.stopped


def test_a_modification_after_a_swap_is_found():
    """A tensor that was saved after a swap and then written is told with the versions of its new memory."""
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            h = torch.ones(3)
            h.add_(1)
            torch.utils.swap_tensors(h, torch.zeros(3))
            w = nn.Parameter(torch.ones(3))
            loss = (w * h).sum()
            h.add_(1)
            loss.backward()
    except RuntimeError:
        pass
    (finding,) = inspection.report.findings
    assert finding.rule == "AG201"
    assert "expected version 0" in finding.message
