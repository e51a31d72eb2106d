"""The line that says that a capture is being analysed."""

import io
import sys

import pytest
import torch

import autograd_inspector
from autograd_inspector.api import progress


class Screen(io.StringIO):
    """A terminal, or a file."""

    def __init__(self, *, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal

    @property
    def left(self):
        """What stands on the line in the end."""
        return self.getvalue().rpartition("\r\x1b[K")[2]


def inspected(monkeypatch, *, terminal, patience, **environment):
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with autograd_inspector.inspect() as inspection:
        torch.ones(2, requires_grad=True).sum().backward()
    assert inspection.report.findings == ()
    return screen


def test_a_slow_analysis_says_how_far_it_is_and_leaves_nothing_behind(monkeypatch):
    """On a terminal one line is written again for each rule and erased in the end."""
    screen = inspected(monkeypatch, terminal=True, patience=0.0)
    assert "autograd_inspector: analysing the capture: 3 of" in screen.getvalue()
    assert "\n" not in screen.getvalue()
    assert screen.left == ""


def test_a_quick_analysis_says_nothing(monkeypatch):
    """Under half a second no line appears."""
    assert pytest.approx(0.5) == progress._PATIENCE
    assert inspected(monkeypatch, terminal=True, patience=0.5).getvalue() == ""


def test_a_file_gets_no_line(monkeypatch):
    """What could not be taken away is not written: standard error goes to a log."""
    assert inspected(monkeypatch, terminal=False, patience=0.0).getvalue() == ""


def test_a_script_that_a_cell_starts_writes_no_line(monkeypatch):
    """`!python train.py` has a terminal, but the notebook saves every text that was ever on its line."""
    assert inspected(monkeypatch, terminal=True, patience=0.0, JPY_PARENT_PID="1").getvalue() == ""


def test_the_line_fits_a_narrow_terminal(monkeypatch):
    """A text that wraps could not be erased."""
    screen = inspected(monkeypatch, terminal=True, patience=0.0, COLUMNS="20")
    assert {len(text) for text in screen.getvalue().split("\r\x1b[K") if text} == {19}


@pytest.fixture
def sent(monkeypatch):
    """What a kernel's shell displays: data, whether that updates an output, and which."""
    pytest.importorskip("IPython")
    from IPython.core import displaypub
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.kernel = object()
    found = []

    def publish(_self, data, metadata=None, *, transient=None, update=False, **_):
        found.append((data, update, transient["display_id"]))

    monkeypatch.setattr(displaypub.DisplayPublisher, "publish", publish)
    monkeypatch.setattr(InteractiveShell, "initialized", classmethod(lambda cls: True))
    monkeypatch.setattr(InteractiveShell, "instance", classmethod(lambda cls, *args, **kwargs: shell))
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    return found


def test_a_notebook_has_one_output_that_the_report_takes(sent):
    """The line is one display, updated; when the analysis is done the report is put there."""
    with progress.Progress(replaced=True) as told:
        told(1, 3)
        told(2, 3)
    told.place.update({"text/plain": "report"}, raw=True)
    texts = [("autograd_inspector: analysing the capture: 1 of 3 rules", False)]
    texts += [("autograd_inspector: analysing the capture: 2 of 3 rules", True), ("report", True)]
    assert [(data["text/plain"], update) for data, update, _ in sent] == texts
    assert len({number for *_, number in sent}) == 1


def test_a_notebook_that_shows_no_report_has_no_line(sent):
    """No output can be taken back, and one without data stays in the file."""
    with progress.Progress() as told:
        told(1, 3)
    assert told.place is None
    assert sent == []


def test_an_analysis_that_fails_leaves_no_line_of_progress(sent):
    """No report will stand there: the output says so."""

    def analysis():
        with progress.Progress(replaced=True) as told:
            told(1, 3)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        analysis()
    assert sent[-1][0] == {"text/plain": "autograd_inspector: the capture was not analysed"}
