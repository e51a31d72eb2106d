"""AG204: a batch is a view of the data set, and what is computed in place with it changes the data of each epoch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

SHIFT, SCALE = torch.full((4,), 0.5), torch.full((4,), 2.0)


def epochs(prepare, take=lambda data, i: data[i : i + 4], data=None, size=12):
    """Three epochs over the batches of a data set."""
    data = torch.randn(size, 4, generator=torch.Generator().manual_seed(0)) if data is None else data
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        for i in range(0, size, 4):
            batch = take(data, i)
            trained(optimizer, net(prepare(batch)).pow(2).mean())


def in_place(batch):
    return batch.sub_(SHIFT).div_(SCALE)


def test_a_batch_is_normalised_in_place():
    """The second epoch normalises what the first one has normalised already."""
    found = diagnosed(
        lambda: epochs(in_place), "AG204", "sub_(SHIFT)", "data", "`sub_`", "`div_`", "3 times", severity="warning",
        where=in_place,
    )  # fmt: skip
    assert "clone()" in found.fix


def test_parts_that_split_returns():
    """Whatever takes a part of the memory: a slice, split(), narrow()."""
    for take in (lambda data, i: data.split(4)[i // 4], lambda data, i: data.narrow(0, i, 4)):
        diagnosed(
            lambda take=take: epochs(in_place, take), "AG204", "sub_(SHIFT)", "data", severity="warning",
            where=in_place,
        )  # fmt: skip


def test_data_that_stays_as_it_is():
    """A copy, an index, a new tensor, one epoch in one part, and values that do not depend on what was there."""
    calm(
        lambda: epochs(in_place, lambda data, i: data[i : i + 4].clone()),
        lambda: epochs(in_place, lambda data, i: data[torch.arange(i, i + 4)]),
        lambda: epochs(lambda batch: (batch - SHIFT) / SCALE),
        lambda: epochs(lambda batch: batch.clamp_(-1, 1)),
        lambda: epochs(lambda batch: batch.copy_(torch.randn(4, 4)).mul_(2)),
        lambda: epochs(in_place, size=4),
    )


def test_memory_that_is_there_to_be_changed():
    """Counts that begin with zeros, and rows that take in what a model computes."""

    def counted():
        counts = torch.zeros(12, 4)
        epochs(lambda batch: batch.add_(1).rsqrt(), data=counts)

    def remembered():
        memory, net = torch.randn(12, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            for i in range(0, 12, 4):
                rows = memory[i : i + 4]
                out = net(rows.clone())
                trained(optimizer, F.mse_loss(out, torch.ones(4, 1)))
                rows.mul_(0.9).add_(out.detach())

    calm(counted, remembered)
