"""Healthy trainings in mixed precision."""

import importlib

import pytest

from .bits import bits, grave

pytestmark = pytest.mark.stories


@pytest.mark.parametrize("trainer", ["accelerate", "lightning", "transformers"])
def test_bfloat16_with_accumulation_and_clipping_is_healthy(tmp_path, trainer):
    """Autocast's copies of the weights, two backward runs a step, clipped gradients: no finding, and the same bits."""
    pytest.importorskip(trainer)
    train = importlib.import_module(f"tests.integrations.programs.with_{trainer}").train
    model, inspector = train(tmp_path, bf16=True, every=1, formats=())
    plain, _ = train(tmp_path, bf16=True, inspect=False)
    assert bits(model) == bits(plain)
    assert (inspector.step, len(inspector.report.capture.backwards)) == (4, 2)
    assert any("bfloat16" in record.dtype for record in inspector.report.capture.tensors)
    assert grave(inspector.report) == []
