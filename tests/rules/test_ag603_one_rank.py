"""AG603: a wrapper of one rank waits for its parameters, too."""

from __future__ import annotations

from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x, *names):
        return self.out(sum(getattr(self, name)(x) for name in names))


@contextmanager
def one_rank(folder):
    store = dist.FileStore(str(folder / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def trained(model, calls):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for names in calls:
        optimizer.zero_grad()
        model(X, *names).square().mean().backward()  # trained
        optimizer.step()


def test_a_branch_that_a_batch_leaves_out(tmp_path):
    """The parameters that waited, and the line that wrapped the model, are told."""

    def program():
        with one_rank(tmp_path):
            model = DistributedDataParallel(Branches())
            trained(model, [("one", "other"), ("one",), ("other",)])

    found = diagnosed(
        program, "AG603", "# trained", "other.weight", "find_unused_parameters", severity="error", where=trained
    )
    assert "one.weight" not in found.message
    assert any(place.role == "wrapped here" and "DistributedDataParallel(" in place.source for place in found.locations)


def test_wrappers_of_one_rank_that_do_not_wait(tmp_path):
    """One that looks for unused parameters, one whose forwards use all, and one that is not to reduce."""

    def searching():
        with one_rank(tmp_path):
            model = DistributedDataParallel(Branches(), find_unused_parameters=True)
            trained(model, [("one", "other"), ("one",), ("other",)])

    def using_all():
        with one_rank(tmp_path):
            model = DistributedDataParallel(Branches())
            trained(model, [("one", "other")] * 3)
            with torch.no_grad():
                model(X, "one")

    def without_reduction():
        with one_rank(tmp_path):
            model = DistributedDataParallel(Branches())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with model.no_sync():
                model(X, "one").square().mean().backward()
            model(X, "one", "other").square().mean().backward()
            optimizer.step()

    for each in (searching, using_all, without_reduction):
        calm(each)
