"""What optimizers keep for a parameter, and what a cast loses."""

from __future__ import annotations

import pytest
import torch

from autograd_inspector.analysis.checkpoints.state_kinds import ELEMENTWISE, NEEDED_STATE, floating, loses, state_of

SETTINGS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {"amsgrad": True},
    "RMSprop": {"momentum": 0.9, "centered": True},
}


@pytest.mark.parametrize("kind", NEEDED_STATE)
def test_torchs_optimizers_keep_what_is_said(kind):
    """With every setting that makes them keep more; what is one number an element has the parameter's shape."""
    parameter = torch.nn.Parameter(torch.ones(2, 3))
    optimizer = getattr(torch.optim, kind)([parameter], lr=0.1, **SETTINGS.get(kind, {}))
    for _ in range(2):
        parameter.sum().backward()
        optimizer.step()
    state = optimizer.state[parameter]
    assert set(state) == state_of(kind)
    assert {name for name, value in state.items() if getattr(value, "shape", ()) == (2, 3)} == ELEMENTWISE & set(state)


def test_of_other_optimizers_nothing_is_known():
    """A class of the program's may keep anything."""
    assert state_of("Lion") is None


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("float32", "float64", False),
        ("float32", "bfloat16", True),
        ("bfloat16", "float16", True),
        ("float16", "float32", False),
        ("complex64", "float32", True),
        ("float32", "int8", True),
    ],
)
def test_casts_that_lose_something(before, after, lost):
    """Fewer bits of mantissa or of exponent, or the imaginary part."""
    assert loses(before, after, codes=False) is lost


def test_integers_that_stand_for_something_else():
    """Of 8-bit state a floating number is no cast."""
    assert not loses("uint8", "float32", codes=False)
    assert loses("uint8", "float32", codes=True)


def test_what_torch_calls_floating():
    """Complex numbers are not."""
    assert [floating(dtype) for dtype in ("float16", "bfloat16", "complex64", "int32")] == [True, True, False, False]
