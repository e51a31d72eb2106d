"""What C records where memory or the stack is short, and what the program finds of the garbage collector meanwhile."""

import gc
import subprocess
import sys

import pytest
import torch

import autograd_inspector
from autograd_inspector.capture.graph_walk.regions import Borders
from autograd_inspector.capture.native.putting_in import REASON
from autograd_inspector.capture.observers.calls.ops import Recorder
from tests.capture.test_native import Doubling

pytestmark = pytest.mark.skipif(bool(REASON), reason=f"Python records here: {REASON}")

SHORT = """
import warnings, _testcapi, torch, autograd_inspector
warnings.simplefilter("ignore")
x, y = torch.ones(3, requires_grad=True), torch.ones(3)
for failing in range(1, 45):
    with autograd_inspector.inspect() as inspection:
        for _ in range(3):
            torch.add(x, y, alpha=2)
        _testcapi.set_nomemory(failing, failing + 1)
        try:
            result = torch.add(x, y, alpha=2)
        except (MemoryError, RuntimeError):  # torch's own
            result = None
        finally:
            _testcapi.remove_mem_hooks()
        y = y + 0
    assert result is None or result.tolist() == [3, 3, 3], failing
    stopped = inspection.report.capture.stopped
    assert not stopped or "MemoryError" in stopped, stopped
print("to the end")
"""


def test_each_allocation_may_fail():
    """The call's result is the program's, and the capture ends with a note or goes on."""
    pytest.importorskip("_testcapi")
    done = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout.strip(), done.returncode) == ("to the end", 0), done.stderr


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_as_the_program_has_it(monkeypatch, on):
    """Whatever runs in the middle of a walk finds it so, and may switch it."""
    found = []

    def led(self, node, slot, led=Borders.led):
        found.append(gc.isenabled())
        (gc.disable if gc.isenabled() else gc.enable)()
        led(self, node, slot)

    x = torch.ones(3, requires_grad=True)
    try:
        with autograd_inspector.inspect():
            (Doubling.apply(x.exp(), x).sin() * 2).sum().backward()  # Python walks the first node of each kind.
            y = (Doubling.apply(x.exp(), x).sin() * 2).sum()
            monkeypatch.setattr(Borders, "led", led)
            (gc.enable if on else gc.disable)()
            y.backward()
            after = gc.isenabled()
    finally:
        gc.enable()
    assert found[0] is on
    assert len(found) == 1
    assert after is not on


def test_no_room_to_note_what_a_call_raised(monkeypatch):
    """The program's exception stays what it is."""

    def failed(*_):
        raise RecursionError("maximum recursion depth exceeded")

    x = torch.ones(3)
    with autograd_inspector.inspect() as inspection:
        with pytest.raises(RuntimeError, match="must be a matrix"):
            torch.mm(x, x)
        monkeypatch.setattr(Recorder, "_failed", failed)
        with pytest.raises(RuntimeError, match="must be a matrix") as raised:
            torch.mm(x, x)
        monkeypatch.undo()
        x.neg()
    assert type(raised.value) is RuntimeError
    assert raised.value.__context__ is None
    assert inspection.report.capture.ops[-1].name == "neg"
    assert any("end of Python's stack" in note for note in inspection.report.capture.notes)
