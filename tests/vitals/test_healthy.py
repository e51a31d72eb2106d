"""What trains as it should has healthy vitals: at the beginning, and after 200 steps where that is quick."""

from __future__ import annotations

import pytest
import torch

import autograd_inspector
from tests.shares import share

from . import healthy

SLOW = {
    "proximal_policy",
    "wasserstein",
    "gpt2",
    "llama",
    "t5",
    "bert",
    "resnet",
    "vision_transformer",
    "dcgan",
    "denoiser",
}
QUICK = [program for program in healthy.PROGRAMS if program.__name__ not in SLOW]
LONG = share(QUICK, 2, name=lambda program: program.__name__)
"""Those that train for 200 steps; `make thorough` takes all that are quick."""
CASES = [(program, steps) for program in healthy.PROGRAMS for steps in (20, 200) if steps == 20 or program in LONG]


@pytest.mark.parametrize(("program", "steps"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_no_finding(program, steps):
    """No rule warns of anything, with values read in every step, and none that reads vitals says anything."""
    torch.manual_seed(1)
    step = program()
    with autograd_inspector.inspect(values=True) as inspection:
        for _ in range(steps):
            step()
    report = inspection.report
    assert report.vitals.seen >= steps
    warned = [finding for finding in report.findings if finding.severity != "info" or finding.rule.startswith("AG7")]
    assert [(finding.rule, finding.message) for finding in warned] == []
