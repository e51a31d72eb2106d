"""The reports of 1,024 ranks as one: simulated, for no machine has so many."""

import resource
import sys
import time

import pytest
import torch
from torch import nn

from autograd_inspector import inspect
from autograd_inspector.api.ranks import merged_parts, part_of
from autograd_inspector.views.archive import encode

RANKS = 1024
SECONDS = 5
MEGABYTES = 500


def parts(layers: int, *, alike: bool) -> dict[int, bytes]:
    """What so many ranks would send of a model; where they are not alike each sends other bytes."""
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(layers)])
    optimizer = torch.optim.AdamW(net.parameters())
    with inspect() as inspection:
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    part = encode(part_of(inspection.report))
    return {
        rank: (part if alike else part.replace('"lr":0.001', f'"lr":0.{rank + 1:04}')).encode() for rank in range(RANKS)
    }


@pytest.mark.parametrize(("layers", "alike"), [(150, True), (24, False)])
def test_reports_of_many_ranks_take_seconds_and_megabytes(layers, alike):
    """CPU time and the growth of the process; each parameter has a column a rank."""
    sent = parts(layers, alike=alike)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    merged = merged_parts(sent)
    took = time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (1e6 if sys.platform == "darwin" else 1e3)
    assert (len(merged.placement.rows), len(merged.placement.ranks)) == (2 * layers, RANKS)
    assert len(merged.placement.differing) == (0 if alike else 2 * layers)
    assert took < SECONDS
    assert grown < MEGABYTES
