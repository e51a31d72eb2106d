"""AG202: a checkpointed function that finds another module when it runs again."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X = torch.randn(5, 4)


def blocks(count=3):
    return nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)) for _ in range(count))


def run(stack, forward):
    scale = torch.ones(4, requires_grad=True)
    trained(torch.optim.SGD([*stack.parameters(), scale], lr=0.1), forward(stack, X * scale).pow(2).mean())


def test_function_that_looks_up_the_variable_of_a_loop():
    """Recomputed, each call of it is one of the loop's last module; bound, or given as it is, it is its own."""

    def looked_up(stack, h):
        for block in stack:
            h = checkpoint(lambda x: block(x), h, use_reentrant=False)  # noqa: B023, PLW0108
        return h

    def bound(stack, h):
        for block in stack:
            h = checkpoint(lambda x, block=block: block(x), h, use_reentrant=False)
            h = checkpoint(block, h, use_reentrant=False)
        return h

    diagnosed(
        lambda: run(blocks(), looked_up), "AG202", "checkpoint(lambda x: block(x)", "finds a different", "linear",
        severity="error", where=looked_up,
    )  # fmt: skip
    silent(lambda: run(blocks(), bound))


def test_modules_that_share_an_input():
    """Heads that read the same tensor are told apart, and a module that is called twice is the same both times."""

    def heads(stack, h):
        outs = [checkpoint(block, h, use_reentrant=False) for block in stack]
        return sum(checkpoint(stack[0], out, use_reentrant=False) for out in outs)

    silent(lambda: run(blocks(), heads))
