"""Containers of the program's that would change if their contents were asked for their class."""

import gc

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


def test_containers_that_the_garbage_collector_changes():
    """What it calls may add to any dictionary of the program's, while that is being read."""
    counts = {}
    watched = type("Watched", (), {})()
    net = torch.nn.Linear(2, 2)

    def tick(phase, _):
        counts[f"{phase} {len(counts)}"] = setattr(watched, f"{phase}_{len(counts)}", None)
        globals()[f"_tick_{len(counts) % 997}"] = None

    before = gc.get_threshold()
    gc.callbacks.append(tick)
    gc.set_threshold(5)
    try:
        with autograd_inspector.inspect() as inspection:
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(tick)
        for name in [name for name in globals() if name.startswith("_tick_")]:
            del globals()[name]
    assert inspection.report.capture.stopped == ""
    assert [op.name for op in inspection.report.capture.ops] == ["ones", "linear", "sum", "SGD.step"]
