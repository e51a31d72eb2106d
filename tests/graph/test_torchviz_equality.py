"""Our record of an autograd graph is the graph that torchviz draws, node for node and edge for edge."""

from __future__ import annotations

import pytest
import torch

import autograd_inspector

from . import transformers_programs  # noqa: F401 - adds its programs
from .drawing import our_form, torchviz_form
from .programs import PROGRAMS

# torchviz compares versions of torch the old way, which is none of ours.
pytestmark = pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning")


@pytest.fixture(params=sorted(PROGRAMS))
def program(request):
    torch.manual_seed(0)
    return PROGRAMS[request.param]()


def test_a_live_graph_is_what_torchviz_draws(program):
    """inspect_graph() sees the nodes, edges (their order and repetitions too) and parameters that torchviz draws."""
    loss = program()
    capture = autograd_inspector.inspect_graph(loss).capture
    (run,) = capture.backwards
    assert our_form(capture.graph_of(run), capture.tensors) == torchviz_form(loss)


def test_a_recorded_backward_is_what_torchviz_draws(program):
    """What inspect() records when backward is called is the graph that torchviz draws of the same loss."""
    with autograd_inspector.inspect() as inspection:
        loss = program()
        loss.backward(retain_graph=True)  # torchviz cannot draw a custom Function whose saved tensors are freed.
    capture = inspection.report.capture
    run = next(run for run in capture.backwards if run.api == "backward" and run.nested_in < 0)
    assert our_form(capture.graph_of(run), capture.tensors) == torchviz_form(loss)


def test_several_roots_are_what_torchviz_draws_of_a_tuple():
    """inspect_graph(a, b) is the union of both graphs, each node once."""
    w = torch.randn(3, requires_grad=True)
    trunk = w.exp()
    first, second = trunk.sum(), (trunk * w).mean()
    capture = autograd_inspector.inspect_graph(first, second).capture
    assert our_form(capture.graph_of(capture.backwards[0]), capture.tensors) == torchviz_form(first, second)


def test_the_comparison_notices_a_missing_edge():
    """Graphs with the same names and counts but other edges are told apart."""
    w = torch.randn(3, requires_grad=True)
    one, other = (w.exp() + w).exp().sum(), (w.exp().exp() + w).sum()
    assert sorted(box.name for box in torchviz_form(one)) == sorted(box.name for box in torchviz_form(other))
    assert torchviz_form(one) != torchviz_form(other)
