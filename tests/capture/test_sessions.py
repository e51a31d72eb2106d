"""One capture at a time, opened and closed in any way."""

import pytest
import torch

import autograd_inspector
from autograd_inspector.capture.session import NestedInspectionError, current
from tests.capture.observe import names, observe


def test_a_capture_inside_another_is_a_typed_error():
    """The inner one is refused, and the outer one goes on."""
    with autograd_inspector.inspect() as inspection:
        with pytest.raises(NestedInspectionError), autograd_inspector.inspect():
            pass
        torch.ones(1).exp()
    assert names(inspection.report.capture) == ["ones", "exp"]


def test_one_after_the_other():
    """A second capture knows nothing of the first."""
    first, second = observe(lambda: torch.ones(1).exp()), observe(lambda: torch.ones(1).sin())
    assert (names(first), names(second)) == (["ones", "exp"], ["ones", "sin"])


def test_the_report_is_there_when_the_block_has_ended():
    """Asking earlier is an error that says so."""
    inspection = autograd_inspector.inspect()
    with inspection, pytest.raises(RuntimeError, match="`with` block"):
        _ = inspection.report
    assert inspection.report.capture.ops == ()


def test_one_object_for_two_blocks():
    """Used again it has the report of the last block; a block inside its own block is refused."""
    inspection = autograd_inspector.inspect()
    with inspection:
        torch.ones(1).exp()
    first = inspection.report
    with inspection:
        torch.ones(1).sin()
        with pytest.raises(NestedInspectionError):
            inspection.__enter__()
    assert (names(first.capture), names(inspection.report.capture)) == (["ones", "exp"], ["ones", "sin"])


def test_an_abandoned_capture_does_not_block_the_next():
    """A session that was dropped without being closed is not in the way."""
    session = autograd_inspector.inspect()
    session.__enter__()
    assert current() is not None
    session.__exit__(None, None, None)
    assert current() is None
    assert names(observe(lambda: torch.ones(1))) == ["ones"]
