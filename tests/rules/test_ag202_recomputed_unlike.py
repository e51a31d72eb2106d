"""AG202: a recomputation that runs other calls than the forward did, and that torch does not notice."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained


class Switched(nn.Module):
    """Does something else while a field is set."""

    def __init__(self):
        super().__init__()
        self.layer, self.mask, self.seen, self.table = nn.Linear(4, 4), None, 0, None

    def forward(self, x):
        h = self.layer(x)
        if self.mask is not None:
            h = h * self.mask
        return h.tanh()


class Counted(Switched):
    """Takes another branch each second time."""

    def forward(self, x):
        self.seen += 1
        h = self.layer(x)
        return h.tanh() if self.seen % 2 else h.sigmoid()


class Cached(Switched):
    """Computes a table once, and looks at what it is given the first time."""

    def forward(self, x):
        if self.table is None:
            self.seen = x.mean().item()
            self.table = torch.arange(4.0).cos()
        return (self.layer(x) * self.table).tanh() + 0.0 * self.seen


def step(block, run):
    """One training step, with the block between two layers, so that the checkpoint's input requires grad."""
    first, last = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *block.parameters(), *last.parameters()], lr=0.1)
    trained(optimizer, run(block, first(torch.randn(5, 4)), last).pow(2).mean())


def checkpointed(block, h, last, *, reentrant=True):
    return last(checkpoint(block, h, use_reentrant=reentrant))


def test_field_that_is_cleared_between_the_forward_and_backward():
    """What a context sets for the forward alone is gone when a reentrant checkpoint runs the block again."""

    def masked(block, h, last):
        block.mask = torch.tensor([1.0, 0.0, 1.0, 1.0])
        out = checkpointed(block, h, last)
        block.mask = None
        return out

    def kept(block, h, last):
        block.mask = torch.tensor([1.0, 0.0, 1.0, 1.0])
        return checkpointed(block, h, last)

    diagnosed(
        lambda: step(Switched(), masked), "AG202", "h * self.mask", "different output", "layer.weight",
        severity="error", where=Switched.forward,
    )  # fmt: skip
    silent(lambda: step(Switched(), kept))


@pytest.mark.parametrize("reentrant", [True, False])
def test_branch_that_saves_as_much(reentrant):
    """Torch compares the layouts of what is saved: two functions that save their result look alike to it."""
    diagnosed(
        lambda: step(Counted(), lambda *args: checkpointed(*args, reentrant=reentrant)),
        "AG202", "h.tanh() if", "`tanh`", "`sigmoid`", severity="error", where=Counted.forward,
    )  # fmt: skip


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_the_first_run_kept(reentrant):
    """A table that the forward computed, and that is there in backward, or a number that is logged once, is fine."""
    silent(lambda: step(Cached(), lambda *args: checkpointed(*args, reentrant=reentrant)))


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_of_one_input(reentrant):
    """Each recomputation has its own forward, also of blocks that share an input or are within each other."""

    def run(blocks, h, last):
        block, other = blocks
        both = checkpoint(block, h, use_reentrant=reentrant) + checkpoint(other, h, use_reentrant=reentrant)

        def inside(x):
            return checkpoint(other, block(x).relu(), use_reentrant=reentrant) + x

        return checkpointed(block, checkpoint(inside, both, use_reentrant=reentrant), last, reentrant=reentrant)

    other = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.GELU())
    silent(lambda: step(nn.ModuleList([Switched(), other]), run))
