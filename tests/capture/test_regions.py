"""Grad-mode regions: who switched, and where it says so."""

import itertools
import random

import torch
from torch import nn

from autograd_inspector.capture.observers.calls.outer_regions import OuterRegions
from autograd_inspector.capture.session import Session
from tests.capture.observe import observe, op


def region_of(capture, name):
    return capture.regions[op(capture, name).region]


def line_of(capture, site):
    return capture.place(site).source


def test_a_with_block():
    """The region of a `with torch.no_grad()` is the with line, and what follows is outside it."""

    def program():
        x = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            x.exp()
        x.sin()

    capture = observe(program)
    region = region_of(capture, "exp")
    assert (region.kind, region.api, region.decorated, region.library) == ("no_grad", "torch.no_grad()", "", "")
    assert line_of(capture, region.site) == "with torch.no_grad():"
    assert region_of(capture, "sin").at_entry


def test_a_decorator():
    """A decorated function's region names the function, and has the decorator's line as its definition."""

    @torch.no_grad()
    def frozen(x):
        return x.exp()

    capture = observe(lambda: frozen(torch.ones(2, requires_grad=True)))
    region = region_of(capture, "exp")
    assert region.decorated.endswith("frozen")
    assert line_of(capture, region.definition) == "@torch.no_grad()"
    assert region.library == ""


def test_a_decorated_generator():
    """A generator is in its mode while it runs, and its consumer is not."""

    @torch.no_grad()
    def batches(x):
        yield x.exp()
        yield x.tan()

    def program():
        x = torch.ones(2, requires_grad=True)
        generator = batches(x)
        next(generator)
        x.sin()
        next(generator)
        x.cos()

    capture = observe(program)
    kinds = {name: region_of(capture, name).kind for name in ("exp", "sin", "tan", "cos")}
    assert kinds == {"exp": "no_grad", "sin": "enabled", "tan": "no_grad", "cos": "enabled"}
    assert region_of(capture, "tan").decorated.endswith("batches")


def test_inference_mode_as_block_and_as_decorator():
    """Entering inference mode is seen though no torch function shows it."""

    @torch.inference_mode()
    def predict(x):
        return x.exp()

    def program():
        x = torch.ones(2)
        predict(x)
        with torch.inference_mode():
            x.sin()
        x.cos()

    capture = observe(program)
    assert region_of(capture, "exp").kind == region_of(capture, "sin").kind == "inference_mode"
    assert region_of(capture, "exp").decorated.endswith("predict")
    assert line_of(capture, region_of(capture, "sin").site) == "with torch.inference_mode():"
    assert region_of(capture, "cos").at_entry


def test_nested_switches_return_where_they_came_from():
    """enable_grad inside no_grad, and the same switch twice, unwind one by one."""

    def program():
        x = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            with torch.enable_grad(), torch.enable_grad():
                x.exp()
            x.sin()
        x.cos()

    capture = observe(program)
    assert [region_of(capture, name).kind for name in ("exp", "sin", "cos")] == ["enabled", "no_grad", "enabled"]
    assert line_of(capture, region_of(capture, "sin").site) == "with torch.no_grad():"


def test_a_mode_that_leaks():
    """set_grad_enabled(False) called as a function stays on until something undoes it."""

    def program():
        x = torch.ones(2, requires_grad=True)
        torch.set_grad_enabled(False)
        x.exp()
        torch.set_grad_enabled(True)
        x.sin()

    capture = observe(program)
    region = region_of(capture, "exp")
    assert (region.kind, region.api) == ("no_grad", "torch.set_grad_enabled(False)")
    assert line_of(capture, region.site) == "torch.set_grad_enabled(False)"
    assert region_of(capture, "sin").kind == "enabled"


def test_set_grad_enabled_as_block_and_as_decorator():
    """It switches once when it is made and again when it is entered: that is one region."""

    @torch.set_grad_enabled(False)
    def frozen(x):
        return x.exp()

    def program():
        x = torch.ones(2, requires_grad=True)
        with torch.set_grad_enabled(mode=False):
            x.sin()
        frozen(x)
        x.cos()

    capture = observe(program)
    assert [region.kind for region in capture.regions] == ["enabled", "no_grad", "no_grad"]
    assert region_of(capture, "cos").at_entry


def test_torchs_own_switches_are_its_own():
    """The no_grad inside nn.init says that it is torch's."""
    capture = observe(lambda: nn.init.zeros_(torch.ones(2, requires_grad=True)))
    assert {region.library for region in capture.regions if region.kind == "no_grad"} == {"torch.nn.init"}


def test_a_custom_function_runs_without_grad():
    """C++ switches the mode around a Function's forward: the region says so, and ends with it."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, grad):
            return grad.sin()

    def program():
        Double.apply(torch.ones(2, requires_grad=True)).cos().sum().backward()

    capture = observe(program)
    assert (region_of(capture, "exp").kind, region_of(capture, "exp").api) == ("no_grad", "custom Function")
    assert region_of(capture, "sin").api == "backward"
    assert region_of(capture, "cos").kind == "enabled"


def test_a_capture_opened_without_grad():
    """A mode that was on before the block is the region at entry."""
    with torch.no_grad():
        capture = observe(lambda: torch.ones(2).exp())
    assert region_of(capture, "exp").at_entry
    assert region_of(capture, "exp").kind == "no_grad"


def test_a_switch_that_is_never_undone_costs_the_same_each_time():
    """``torch.set_grad_enabled(True)`` in a loop: what is gone through at each backward does not grow with it."""
    session = Session()
    session.start(held=lambda: True)
    held = []
    try:
        for _ in range(50):
            torch.set_grad_enabled(True)
            torch.ones(2, requires_grad=True).sum().backward()
            held.append(len(session.recording.mode.regions.held()))
    finally:
        session.abandon()
    assert held[-1] == held[1]


def test_after_such_switches_a_block_ends_where_it_began():
    """They are counted: the region around the block is the one that it was in."""

    def program():
        x = torch.ones(2, requires_grad=True)
        for _ in range(3):
            torch.set_grad_enabled(True)
        with torch.no_grad():
            for _ in range(3):
                torch.set_grad_enabled(False)
            with torch.enable_grad():
                x.exp()
            x.tan()
        x.sin()

    capture = observe(program)
    kinds = [region_of(capture, name).kind for name in ("exp", "tan", "sin")]
    assert kinds == ["enabled", "no_grad", "enabled"]
    assert region_of(capture, "sin").at_entry
    assert region_of(capture, "tan").api == "torch.no_grad()"


def test_a_stack_of_regions_is_the_list_that_it_stands_for():
    """Whatever is pushed and cut, and however often one lies there in a row."""
    draw = random.Random(0)
    outer, plain = OuterRegions(), []
    for _ in range(2000):
        if draw.random() < 0.6:
            region = draw.randrange(3)
            outer.push(region)
            plain.append(region)
        elif plain and draw.random() < 0.5:
            region = draw.choice(plain)
            outer.back_to(region)
            del plain[len(plain) - 1 - plain[::-1].index(region) :]
        else:
            depth = draw.randrange(len(plain) + 2)
            outer.cut(depth)
            del plain[depth:]
        assert len(outer) == len(plain)
        assert [*outer.innermost_first()] == [region for region, _ in itertools.groupby(reversed(plain))]
