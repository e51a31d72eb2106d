"""Containers of the program's that change while the inspector looks through them."""

import torch

import autograd_inspector


def test_a_container_may_change_while_it_is_looked_through():
    """A proxy that fills a cache whenever somebody asks for its class: nothing is lost, nothing is said."""
    cache = {}

    class Lazy:
        @property
        def __class__(self):
            cache[f"asked {len(cache)}"] = None
            return int

    cache["first"] = Lazy()
    net = torch.nn.Linear(2, 2)
    with autograd_inspector.inspect() as inspection:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert inspection.report.capture.stopped == ""
    assert len(cache) > 1
    assert [op.name for op in inspection.report.capture.ops] == ["ones", "linear", "sum", "SGD.step"]
