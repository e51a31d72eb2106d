"""AG305: gradients that accelerate accumulates, where the program steps or calls backward() past it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

accelerate = pytest.importorskip("accelerate")
X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


@pytest.fixture(autouse=True)
def forgotten():
    """What an Accelerator leaves in its process is gone for the next one."""
    yield
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()


def micro_batches(prepare, backward, *, accumulate=2):
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulate)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net, optimizer = prepare(accelerator, net, optimizer)
    for _ in range(4):
        with accelerator.accumulate(net):
            backward(accelerator, F.cross_entropy(net(X), Y))
            optimizer.step()  # steps
            optimizer.zero_grad()


def both(accelerator, net, optimizer):
    return accelerator.prepare(net, optimizer)


def model_alone(accelerator, net, optimizer):
    return accelerator.prepare(net), optimizer  # half


def its_own(accelerator, loss):
    accelerator.backward(loss)


def tensors(accelerator, loss):
    loss.backward()  # whole


def test_optimizer_that_was_not_prepared():
    """It steps in each micro-batch; prepared, in the last one; without accumulation there is nothing to hold back."""
    diagnosed(
        lambda: micro_batches(model_alone, its_own), "AG305", "# half", "optimizer", "prepare()", severity="warning",
        where=model_alone,
    )  # fmt: skip
    calm(lambda: micro_batches(both, its_own))


def test_optimizer_without_accumulation():
    """One micro-batch a step."""
    calm(lambda: micro_batches(model_alone, its_own, accumulate=1), lambda: micro_batches(both, tensors, accumulate=1))


def test_losses_that_nobody_divides():
    """`loss.backward()` adds up what `accelerator.backward()` would average; the program may divide itself."""
    finding = diagnosed(
        lambda: micro_batches(both, tensors), "AG305", "# whole", "accelerator.backward(loss)", severity="warning",
        where=tensors,
    )  # fmt: skip
    assert "2 micro-batches" in finding.message
    calm(lambda: micro_batches(both, lambda accelerator, loss: (loss / 2).backward()))


def test_another_model_beside():
    """What the program trains without accelerate goes its own way."""

    def program():
        accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
        net, other = nn.Linear(4, 2), nn.Linear(4, 2)
        net, optimizer = both(accelerator, net, torch.optim.SGD(net.parameters(), lr=0.1))
        plain = torch.optim.SGD(other.parameters(), lr=0.1)
        for _ in range(4):
            with accelerator.accumulate(net):
                accelerator.backward(F.cross_entropy(net(X), Y))
                optimizer.step()
                optimizer.zero_grad()
            plain.zero_grad()
            F.cross_entropy(other(X), Y).backward()
            plain.step()

    calm(program)
