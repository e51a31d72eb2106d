"""AG502: what lives in reference cycles alone is kept by nobody; the interpreter frees it sooner or later."""

import gc

import pytest
import torch
from torch import nn

from autograd_inspector import inspect


class Cached:
    """Caches what it was made of, and refers to itself, as distributions with cached transforms do."""

    def __init__(self, *values):
        self.values, self.itself = values, self


@pytest.fixture(autouse=True)
def _rare_collections():
    """No collection comes by chance while a program runs."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.set_threshold(100_000, 50, 50)
    yield
    gc.set_threshold(*thresholds)


def trained(lines, rounds=14, apart=1):
    """After so many rounds one more of the lines runs in each; what they return is held through the next round."""
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for each in range(rounds):
        hidden = net(torch.randn(2, 4))
        made = [line(hidden) for line in lines[: each // apart + 1]]
        optimizer.zero_grad()
        hidden.pow(2).mean().backward()
        optimizer.step()
        latest = made
    return latest


def test_many_lines_that_begin_one_after_the_other():
    """More lines pile up than unreachable objects are collected for."""
    lines = [
        lambda h: Cached(h.exp()),
        lambda h: Cached(h.tanh()),
        lambda h: Cached(h.sin()),
        lambda h: Cached(h.cos()),
        lambda h: Cached(h.sigmoid()),
        lambda h: Cached(h.relu()),
    ]
    with inspect() as inspection:
        trained(lines, rounds=30, apart=5)
    assert not inspection.report.findings


def test_several_results_of_one_line():
    """Those of the round before are alive behind a collection: more than three, of one round."""
    with inspect() as inspection:
        trained([lambda h: Cached(h.exp(), h.sin(), h.cos(), h.tanh(), *h.chunk(4, -1))])
    assert not inspection.report.findings


def test_a_list_beside_them():
    """What a list keeps is told all the same."""
    kept = []
    with inspect() as inspection:
        trained([lambda h: Cached(h.exp(), h.sin(), h.cos()), lambda h: kept.append(h.sigmoid())])
    (finding,) = inspection.report.findings
    assert finding.rule == "AG502"
    assert any("h.sigmoid()" in (place.source or "") for place in finding.locations)
