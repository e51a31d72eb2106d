"""AG202: which forward op a recomputed one repeats, where torch's own code calls both."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .programs import diagnosed, inspected, silent, trained

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(3))


def whole(block, x):
    return checkpoint(block, x, use_reentrant=False)


def reentrant(block, x):
    return checkpoint(block, x.clone().requires_grad_(), use_reentrant=True)


def in_segments(block, x):
    # The last segment is run as it is.
    return checkpoint_sequential([block, nn.Identity()], 2, x, use_reentrant=False)


def function_alone(block, x):
    linear = partial(F.linear, weight=block[2].weight, bias=block[2].bias)
    return checkpoint(linear, whole(block[:2], x), use_reentrant=False).tanh()


def edited(forward, late):
    """The weights of a block are halved, before the backward or after it."""
    block, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)
    x = X.clone().requires_grad_()
    optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
    loss = head(forward(block, x)).pow(2).mean()
    if late:
        trained(optimizer, loss)
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.mul_(0.5)
    if not late:
        trained(optimizer, loss)


def test_weights_of_a_checkpointed_module_of_torch():
    """Its ops have no line of the program of their own: the module that ran them tells which are the same."""
    for forward in (whole, reentrant, in_segments, function_alone):
        diagnosed(
            lambda forward=forward: edited(forward, late=False), "AG202", "parameter.mul_(0.5)", "2.weight",
            severity="error", where=edited, besides=("AG301",),
        )  # fmt: skip
        silent(lambda forward=forward: edited(forward, late=True))


def adversarial(early):
    """A critic steps between the generator's forward, which is checkpointed, and its backward."""
    critic, generator = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), nn.Linear(4, 4)
    first = torch.optim.SGD(critic.parameters(), lr=0.1)
    second = torch.optim.SGD(generator.parameters(), lr=0.1)
    for _ in range(3):
        fake = generator(X)
        score = whole(critic, fake) if early else None
        trained(first, critic(fake.detach()).mean() - critic(X).mean())
        score = score if early else whole(critic, fake)
        trained(second, -score.mean())


def test_step_between_a_checkpointed_forward_and_its_backward():
    """The module is called outside of the checkpoint as well, and those calls are not the ones that are repeated."""
    diagnosed(
        lambda: adversarial(early=True), "AG202", "optimizer.step()", "critic.0.weight", severity="error", where=trained
    )
    silent(lambda: adversarial(early=False))


def test_running_statistics_of_a_checkpoint():
    """Backward updates them again: worth an info, for the gradients are right."""

    def program(block, inside):
        head = nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, head(inside(block, X)).pow(2).mean())

    def told(block, inside):
        return [f for f in inspected(lambda: program(block, inside)).findings if "updated twice" in f.message]

    (found,) = told(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)), whole)
    assert (found.rule, found.severity) == ("AG202", "info")
    assert "running_mean" in found.message
    assert not told(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)), whole)
    assert not told(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)).eval(), whole)
    assert not told(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)), lambda block, x: block(x))
