"""AG204: a tensor that is stored again and again, and changed in place in between."""

from __future__ import annotations

from collections import deque

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed
from .twins import calm


def rollout(keep, put_together=torch.stack, steps=12, change=None):
    """A position that a policy moves, kept at each step, and a network that learns from what was kept."""
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    position, memory = torch.zeros(3), deque(maxlen=6)
    for _ in range(steps):
        position = (change or in_place)(position)
        memory.append(keep(position))  # Stored.
        if len(memory) == memory.maxlen:
            batch = put_together([*memory])  # Together.
            optimizer.zero_grad()
            F.softplus(net(batch)).mean().backward()
            optimizer.step()


def in_place(position):
    position += torch.randn(3)  # Moved.
    return position


def anew(position):
    return position + torch.randn(3)


def rows(kept):
    return torch.cat(kept).view(len(kept), -1)


@pytest.mark.parametrize(
    ("put_together", "culprit", "where"), [(torch.stack, "# Stored.", rollout), (rows, "# Moved.", in_place)]
)
def test_entries_that_are_one_tensor(put_together, culprit, where):
    """The line that stores it, where the call names what holds the entries; those that change it and combine them."""
    finding = diagnosed(
        lambda: rollout(lambda position: position, put_together), "AG204", culprit, "position", "6 times",
        severity="warning", where=where,
    )  # fmt: skip
    roles = [place.role for place in finding.locations]
    assert "changed in place here" in roles
    assert "combined here" in roles
    assert ".clone()" in finding.fix


def test_entries_that_differ():
    """Copies, new tensors; a tensor that is changed once and repeated then, or changed before by many lines."""

    def repeated():
        net, scale = nn.Linear(3, 1), torch.ones(3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            scale.mul_(0.9)
            scale.add_(0.1)
            optimizer.zero_grad()
            net(torch.stack([scale, scale])).mean().sigmoid().backward()
            optimizer.step()

    def interleaved(together):
        """Frequencies of a rotary embedding: each axis fills its part in, then the halves are the same."""
        net = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            frequencies = torch.randn(3, 2, 4)
            mixed = frequencies[0]
            for axis in (1, 2):
                mixed[..., axis::3] = frequencies[axis, ..., axis::3]
            optimizer.zero_grad()
            net(together(mixed)).mean().sigmoid().backward()
            optimizer.step()

    calm(
        lambda: interleaved(lambda mixed: torch.cat((mixed, mixed), dim=-1)),
        lambda: interleaved(lambda mixed: torch.cat([mixed] * 2, dim=-1)),
        lambda: interleaved(lambda mixed: torch.cat([mixed for _ in range(2)], dim=-1)),
        lambda: rollout(torch.clone),
        lambda: rollout(lambda position: position, change=anew),
        lambda: rollout(lambda position: position.detach().clone()),
        repeated,
    )


class Buffer:
    def __init__(self, size):
        self.seen, self.size = [torch.zeros(3)][:0], size

    def add(self, seen):
        self.seen.append(seen)

    def batch(self):
        return torch.stack(self.seen)


def test_entries_of_an_attribute():
    """The method that adds to it, and not the constructor that makes it."""

    def program(keep=lambda position: position):
        net, buffer, position = nn.Linear(3, 1), Buffer(4), torch.zeros(3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(buffer.size):
            position += torch.randn(3)
            buffer.add(keep(position))
        F.softplus(net(buffer.batch())).mean().backward()
        optimizer.step()

    diagnosed(program, "AG204", "self.seen.append(seen)", "position", "4 times", severity="warning", where=Buffer)
    calm(lambda: program(torch.clone))
