"""Nodes that another thread made: each thread counts for itself, so their numbers must not be taken for others."""

from __future__ import annotations

import threading

import torch

from autograd_inspector import inspect
from autograd_inspector.capture.recording import nodes_elsewhere
from autograd_inspector.capture.recording.nodes_elsewhere import Elsewhere, NodesElsewhere
from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_LAST
from autograd_inspector.capture.recording.recording import new_recording
from autograd_inspector.capture.torch_private.modes import function_modes, pop_mode, push_mode
from autograd_inspector.model.op import Trait


def test_ops_of_another_thread_have_no_numbers():
    """An op that made nodes elsewhere is recorded, and takes no node of this thread for its own."""
    recording = new_recording(None, values=False)
    recording.append("mul", sequence=(0, 1))
    recording.thread = -1  # From here on this thread is another one.
    recording.append("relu", sequence=(0, 2))
    recording.append("sum", sequence=(2, 2))
    here = recording.bounds_here()
    recording.thread = threading.get_ident()
    recording.append("add", sequence=(1, 2))
    assert recording.sequence_bounds() == recording.bounds_here() == ([0, 1], [1, 2], [0, 3])
    assert here == ([0], [2], [1])
    assert [*recording.bounds_elsewhere()] == [here]
    made_nodes = [op[OP_LAST] > op[OP_FIRST] for _, op in recording.ops.items()]
    assert made_nodes == [True, True, False, True]


def test_the_result_of_a_run_is_found_by_its_reader(monkeypatch):
    """A node is that of a result where its reader read that tensor; another node of the same number is not."""
    monkeypatch.setattr(nodes_elsewhere, "_IN_CALLERS_THREAD", frozenset())
    gradient = torch.ones(2, requires_grad=True) * 2
    node = gradient.grad_fn
    elsewhere = NodesElsewhere()
    assert not elsewhere
    elsewhere.add([(7, gradient)], 3, 1, 3)
    assert elsewhere
    assert elsewhere.of(node, node._sequence_nr(), (5, 7)) == Elsewhere(7, 3, 1, 3)
    assert elsewhere.of(node, node._sequence_nr(), None) == Elsewhere(7, 3, 1, 3)
    assert elsewhere.of(node, node._sequence_nr(), (5,)) is None
    assert elsewhere.of(node, node._sequence_nr() + 1, (7,)) is None


def test_the_callers_own_thread_makes_the_nodes_of_the_host():
    """What the engine computes on the host it computes in the thread that called it."""
    elsewhere = NodesElsewhere()
    elsewhere.add([(7, torch.ones(2, requires_grad=True) * 2)], 3, 1, 3)
    assert not elsewhere


def test_results_are_not_remembered_for_ever(monkeypatch):
    """Those of old graphs go first."""
    monkeypatch.setattr(nodes_elsewhere, "_IN_CALLERS_THREAD", frozenset())
    monkeypatch.setattr(nodes_elsewhere, "_MOST", 2)
    elsewhere, x = NodesElsewhere(), torch.ones(2, requires_grad=True)
    results = [x * number for number in range(3)]
    elsewhere.add(enumerate(results), 3, 1, 3)
    kept = [elsewhere.of(each.grad_fn, each.grad_fn._sequence_nr(), None) is not None for each in results]
    assert kept == [False, True, True]


def test_a_run_inside_a_thread_of_the_engines():
    """Such a thread has the recorder on its stack of modes; what a hook or a Function differentiates there is seen."""
    weight = torch.ones(2, requires_grad=True)

    def served(mode) -> None:
        push_mode(mode)
        mode.recording.traits |= int(Trait.BACKWARD)
        try:
            torch.autograd.grad((weight * 2).sum(), weight)
        finally:
            mode.recording.traits = 0
            pop_mode()

    with inspect() as inspection:
        [mode] = function_modes()
        thread = threading.Thread(target=served, args=(mode,))
        thread.start()
        thread.join()
    [run] = inspection.report.capture.backwards
    assert run.api == "grad"


def test_a_run_in_a_thread_of_the_programs():
    """A thread that the program starts is none of the capture's, and is told as such."""
    weight = torch.ones(2, requires_grad=True)
    with inspect() as inspection:
        thread = threading.Thread(target=lambda: torch.autograd.grad((weight * 2).sum(), weight))
        thread.start()
        thread.join()
    assert not inspection.report.capture.backwards
    assert any("other threads" in note for note in inspection.report.capture.notes)
