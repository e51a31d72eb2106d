"""The inspector reads metadata: it runs no operator, reads no value, and draws no random number."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import autograd_inspector

pytestmark = pytest.mark.undisturbed


class Log(TorchDispatchMode):
    """Every operator that reaches the dispatcher."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


def train():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        hidden = checkpoint(model, torch.randn(5, 3), use_reentrant=False)
        hidden.softmax(-1).log().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def modified():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def custom():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    Double.apply(x[1:]).sum().backward()
    x.data.mul_(2)
    x.detach().numpy()[0] = 3


@pytest.mark.parametrize("program", [train, modified, custom], ids=lambda program: program.__name__)
@pytest.mark.parametrize("place", ["around", "inside"])
def test_no_operator_runs_that_the_program_did_not_call(program, place):
    """A dispatch mode around or inside the inspected block sees exactly the program's own operators."""
    with Log() as plain:
        program()
    if place == "around":
        with Log() as inspected, autograd_inspector.inspect():
            program()
    else:
        with autograd_inspector.inspect(), Log() as inspected:
            program()
    assert inspected.calls == plain.calls


def test_a_model_without_values_can_be_inspected():
    """On the meta device there is no value to read: everything is found all the same."""
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with autograd_inspector.inspect() as inspection:
        model(torch.ones(5, 3, device="meta")).sum().backward()
        optimizer.step()
    capture = inspection.report.capture
    assert [op.name for op in capture.ops] == ["ones", "linear", "dropout", "linear", "sum", "SGD.step"]
    assert {row.device for row in capture.placement.rows} == {"meta"}
    assert not capture.notes


def test_no_random_number_is_drawn():
    """Every random stream stands where it stood when an empty block is inspected."""
    before = torch.get_rng_state()
    with autograd_inspector.inspect():
        pass
    assert torch.equal(torch.get_rng_state(), before)
