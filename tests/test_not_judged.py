"""When the inspector itself fails, or sees nothing, nobody takes that for a clean bill of health."""

from __future__ import annotations

import pytest
import torch

import autograd_inspector
from autograd_inspector.api.errors import NotJudgedError, failure_of
from autograd_inspector.capture.observers.calls.functions import Unseen
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import NOT_JUDGED

STEP = "import torch\nw = torch.ones(3, requires_grad=True)\nw.exp().sum().backward()\nprint('done')\n"


@pytest.fixture
def broken(monkeypatch):
    """An inspector that cannot begin, as with a torch that it does not know."""

    def fails(*_):
        raise AttributeError("torch has changed")

    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    monkeypatch.setattr(Unseen, "install", fails)


@pytest.mark.usefixtures("broken")
@pytest.mark.filterwarnings("ignore::autograd_inspector.capture.undisturbed.warnings.own.InspectorWarning")
def test_a_capture_that_stopped():
    """The headline says so, the program ran, and whoever asks for a verdict gets a failure."""
    with autograd_inspector.inspect() as inspection:
        result = torch.ones(2).exp()
    report = inspection.report
    assert result.shape == (2,)
    assert repr(report) == "<Report: recording stopped · 0 ops observed>"
    assert "torch has changed" in report.capture.stopped
    assert isinstance(failure_of(report, "error"), NotJudgedError)
    assert failure_of(report, None) is None
    assert autograd_inspector.Report.from_json(report.to_json()).capture.stopped == report.capture.stopped


@pytest.mark.usefixtures("broken")
@pytest.mark.filterwarnings("ignore::autograd_inspector.capture.undisturbed.warnings.own.InspectorWarning")
def test_the_command_line_says_122(tmp_path, capsys):
    """Not 0: a CI job must not turn green because nobody looked. The program's own failure is told first."""
    script = tmp_path / "train.py"
    script.write_text(STEP)
    assert main(["run", str(script)]) == NOT_JUDGED
    printed = capsys.readouterr()
    assert printed.out == "done\n"
    assert "autograd inspector: recording stopped" in printed.err
    assert "exit=not-judged (122): not judged: " in printed.err.splitlines()[-1]
    assert "AttributeError: torch has changed" in printed.err
    script.write_text("import sys\nsys.exit(7)\n")
    assert main(["run", "--quiet", str(script)]) == 7


def test_nothing_to_see(tmp_path, capsys):
    """A program that calls no torch ends well, and is not called healthy."""
    script = tmp_path / "empty.py"
    script.write_text("x = 1\n")
    assert main(["run", str(script)]) == 0
    assert capsys.readouterr().err.startswith("autograd inspector: nothing observed\n")


def test_a_program_with_its_own_capture(tmp_path, capsys):
    """`run` on a script that inspects itself: it works as without us, and the report says where it ended."""
    script = tmp_path / "own.py"
    script.write_text(
        "import torch, autograd_inspector\nw = torch.ones(3, requires_grad=True)\ny = w * 2\n"
        "with autograd_inspector.inspect() as inspection:\n    y.sum().backward()\n"
        "print(inspection.report)\ntorch.ones(2)\n"
    )
    assert main(["run", str(script)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("<Report: no findings · ")
    assert " inspect() block (own.py:4)" in " ".join(printed.err.split())
