"""AG501: regions under selective activation checkpointing whose cache was used up."""

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
MADE = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])


def nothing(ctx, op, *args, **kwargs):
    return CheckpointPolicy.PREFER_RECOMPUTE


def training(contexts, *, layers=3, steps=2):
    """Steps of a stack whose layers are checkpointed with what ``contexts`` returns."""
    stack = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(layers))
    optimizer = torch.optim.SGD(stack.parameters(), lr=0.1)
    for _ in range(steps):
        x = X
        for layer in stack:
            x = checkpoint(layer, x, use_reentrant=False, context_fn=contexts)
        optimizer.zero_grad()
        x.pow(2).mean().backward()
        optimizer.step()


def one_for_all_layers():
    pair = MADE()
    training(lambda: pair)  # Shared.


def one_for_all_steps():
    pair = MADE()
    training(lambda: pair, layers=1)  # Shared.


def backward_twice():
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    y = checkpoint(layer, X, use_reentrant=False, context_fn=MADE)
    y.mean().backward(retain_graph=True)
    y.pow(2).mean().backward()


def made():
    pair = MADE()
    return pair[0], pair[1]


def a_pair_for_each():
    training(MADE)
    training(made)


def one_that_keeps_nothing():
    pair = create_selective_checkpoint_contexts(nothing)
    training(lambda: pair)


def added_first():
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        y = checkpoint(layer, X, use_reentrant=False, context_fn=MADE)
        optimizer.zero_grad()
        (y.mean() + y.pow(2).mean()).backward()
        optimizer.step()


def test_shared_contexts():
    """Layers, or steps, that share one pair: the function that returns it is named first."""
    for program in (one_for_all_layers, one_for_all_steps):
        diagnosed(program, "AG501", "# Shared.", "share one pair of contexts", "context_fn", severity="error")


def test_second_backward():
    """A region that is recomputed by two backwards is no shared one."""
    finding = diagnosed(
        backward_twice,
        "AG501",
        "y = checkpoint",
        "a second time",
        "selective activation checkpointing",
        severity="error",
    )
    assert "share" not in finding.message


def test_own_contexts():
    """A pair for each call, a shared one that keeps nothing, and one backward for two losses."""
    calm(a_pair_for_each, one_that_keeps_nothing, added_first)
