"""The inspector adds no synchronisation: torch raises at any, and the programs make none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from autograd_inspector import inspect

from .programs import PROGRAMS


@contextmanager
def never_waiting() -> Iterator[None]:
    """Let torch raise where the host waits for the device."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_waiting_is_noticed(device):
    """Reading a number from the device raises, so these tests can fail."""
    with never_waiting(), pytest.raises(RuntimeError, match="synchron"):
        torch.ones((), device=device).item()


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_synchronisation_is_added(name, device):
    """Steps that do not wait do not wait in a block, nor while its report is made."""
    step = PROGRAMS[name](device)
    step()
    with never_waiting():
        step()
        with inspect() as inspection:
            for _ in range(3):
                step()
        findings = inspection.report.findings
        inspection.report.to_text()
    assert [finding for finding in findings if finding.severity in ("error", "warning")] == []
