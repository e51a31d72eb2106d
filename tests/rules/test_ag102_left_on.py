"""AG102 of a generator that yields within its no_grad block: nothing has a graph, and no backward() is called."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def yielding(net):
    with torch.no_grad():
        for _ in range(3):
            yield net(X)  # within the block


def leaving(net):
    for _ in range(3):
        with torch.no_grad():
            h = net(X)
        yield h


def trained_on(features, *, clear=True, train=True):
    """The loop skips what has no graph: a frozen phase."""
    net, head = nn.Linear(4, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for h in features(net):
        if clear:
            optimizer.zero_grad()
        loss = head(h).pow(2).mean()
        if train and loss.requires_grad:
            loss.backward()
            optimizer.step()


def evaluated():
    """After the training the same generator serves an evaluation."""
    net, head = nn.Linear(4, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for h in leaving(net):
        optimizer.zero_grad()
        head(h).pow(2).mean().backward()
        optimizer.step()
    optimizer.zero_grad()
    for h in yielding(net):
        head(h).pow(2).mean().item()


def by_hand():
    """The block is the loop's own."""
    head = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    with torch.no_grad():
        optimizer.zero_grad()
        head(X).pow(2).mean().item()


def test_a_generator_that_yields_within_its_block():
    """The body of the loop runs within the block too."""
    diagnosed(
        lambda: trained_on(yielding), "AG102", "# within the block", "yielding", "weight", "SGD.zero_grad()",
        severity="warning", where=yielding,
    )  # fmt: skip


def test_what_runs_without_gradients_on_purpose():
    """It leaves the block first; nothing is cleared, as in an evaluation; what is evaluated was trained before."""
    calm(lambda: trained_on(leaving), lambda: trained_on(yielding, clear=False), evaluated, by_hand)
