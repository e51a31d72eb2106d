"""Containers of the program's that would change if their contents were asked for their class."""

import torch

import autograd_inspector


def test_the_contents_of_a_container_are_not_asked_for_their_class():
    """A proxy that fills a cache whenever somebody asks for its class: the inspector never does."""
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
    assert list(cache) == ["first"]
    assert [op.name for op in inspection.report.capture.ops] == ["ones", "linear", "sum", "SGD.step"]
