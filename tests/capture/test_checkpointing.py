"""Gradient checkpointing, reentrant and not."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_inspector.model.op import Trait
from tests.capture.observe import names, nodes, observe, saved


def run(*, reentrant):
    layer = nn.Linear(3, 3)
    x = torch.ones(2, 3, requires_grad=True)
    checkpoint(lambda t: layer(t).relu(), x, use_reentrant=reentrant).sum().backward()


@pytest.mark.parametrize("reentrant", [True, False])
def test_recomputation_is_told_from_the_forward(reentrant):
    """The ops that backward runs again carry the trait BACKWARD; those of the forward do not."""
    capture = observe(lambda: run(reentrant=reentrant))
    linear = [op for op in capture.ops if op.name == "linear"]
    assert [op.has(Trait.BACKWARD) for op in linear] == [False, True]
    assert [call.nth for call in capture.calls] == [1, 2]


def test_the_no_grad_of_a_reentrant_checkpoint_is_torchs_own():
    """Its forward runs in a region that names torch.utils.checkpoint, and recomputation in one that records."""
    capture = observe(lambda: run(reentrant=True))
    forward, again = (capture.regions[op.region] for op in capture.ops if op.name == "linear")
    assert (forward.kind, forward.library) == ("no_grad", "torch.utils.checkpoint")
    assert again.kind == "enabled"


def test_a_reentrant_checkpoint_is_two_engine_runs():
    """The backward inside backward is one of its own, and knows in which it ran."""
    capture = observe(lambda: run(reentrant=True))
    assert [(b.api, b.nested_in) for b in capture.backwards] == [("backward", -1), ("backward", 0)]
    assert nodes(capture) == ["SumBackward0", "CheckpointFunctionBackward", "AccumulateGrad"]
    assert "AddmmBackward0" in nodes(capture, 1)


def test_what_a_checkpoint_packed_is_not_unpacked():
    """Saved tensors of a checkpointed region are told as packed: looking at them would recompute."""
    capture = observe(lambda: run(reentrant=False))
    statuses = saved(capture)
    assert {status for name, status in statuses.items() if not name.startswith("Sum")} == {"packed"}
    assert names(capture).count("linear") == 2


def test_the_program_is_in_the_mode_it_was_in_after_backward():
    """Grad mode regions of the engine and of recomputation end with it."""

    def program():
        run(reentrant=False)
        torch.ones(2) * 3

    capture = observe(program)
    assert capture.regions[capture.ops[-1].region].kind == "enabled"
    assert not [region for region in capture.regions if region.api == "restored"]
