"""Warnings: the same ones, at the same lines, as often."""

import contextlib
import warnings

import pytest
import torch

import autograd_inspector

pytestmark = pytest.mark.undisturbed


def reads():
    """Two lines that read .grad of a tensor that is no leaf, one of them twice."""
    y = torch.ones(3, requires_grad=True) * 2
    for _ in range(2):
        y.grad
    y.grad


def resized():
    torch.add(torch.ones(3), torch.ones(3), out=torch.ones(2))


def warned_by(program, context, action):
    """(text, category, file, line) of every warning."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as seen, context:
            warnings.simplefilter(action)
            program()
    finally:
        torch.set_warn_always(before)
    return [(str(w.message), w.category, w.filename, w.lineno) for w in seen]


@pytest.mark.parametrize("program", [reads, resized], ids=lambda program: program.__name__)
@pytest.mark.parametrize("action", ["always", "default"])
def test_torchs_warnings_name_the_programs_line(program, action):
    """What C++ warns of is attributed to the line that called it, and shown as often as the filters say."""
    plain = warned_by(program, contextlib.nullcontext(), action)
    inspected = warned_by(program, autograd_inspector.inspect(), action)
    assert plain
    assert {file for _, _, file, _ in plain} == {__file__}
    assert inspected == plain


def test_warnings_that_are_errors_are_raised():
    """A program that turns warnings into errors gets them as errors."""
    with warnings.catch_warnings(), autograd_inspector.inspect():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="not a leaf"):
            reads()


def test_a_warning_of_the_programs_own_is_untouched():
    """Its stack level counts the program's frames, and none of ours."""

    def program():
        warnings.warn("mine", stacklevel=1)

    plain = warned_by(program, contextlib.nullcontext(), "always")
    assert warned_by(program, autograd_inspector.inspect(), "always") == plain
