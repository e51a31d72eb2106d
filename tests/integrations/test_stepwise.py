"""Which steps are inspected, and what becomes of the others."""

import logging
import warnings
import weakref
from itertools import count

import pytest
import torch

import autograd_inspector
from autograd_inspector.capture.observers.optimizers import known
from autograd_inspector.capture.observers.optimizers.placement import Rows
from autograd_inspector.capture.session import Session, current
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning
from autograd_inspector.integrations import stepwise
from autograd_inspector.integrations.stepwise import Stepwise
from tests.capture.observe import observe

from .loop import Loop


@pytest.mark.parametrize("failing", [True, False])
def test_the_first_steps_and_every_kth_are_reported(tmp_path, failing):
    """``first=2, every=3`` of seven steps: 1, 2, 3, 6."""
    loop = Loop(tmp_path, first=2, every=3, failing=failing, formats=())
    loop.run(7)
    assert loop.reported == [1, 2, 3, 6]
    assert all(report.findings == () and len(report.capture.steps) == 1 for _, report, _ in loop.told)


def test_a_report_is_one_html_and_one_json_file(tmp_path):
    """In a folder of ours beside the trainer's logs, or in the one that was asked for."""
    Loop(tmp_path).run(1)
    folder = tmp_path / "autograd-inspector"
    assert sorted(path.name for path in folder.iterdir()) == ["step-000001.html", "step-000001.json"]
    text = (folder / "step-000001.json").read_text(encoding="utf-8")
    assert autograd_inspector.Report.from_json(text).capture.steps
    Loop(tmp_path, directory=tmp_path / "mine", formats=["txt"]).run(1)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["step-000001.txt"]


def test_the_step_that_raises_is_explained_whichever_it_is(tmp_path, caplog):
    """Step 3 was not chosen; its report is logged once, with the culprit's line, and the error passes through."""
    loop = Loop(tmp_path)
    with pytest.raises(RuntimeError, match="modified by an inplace"), loop.steps:
        loop.run(5, spoil=3)
    assert loop.reported == [1, 3]
    [finding] = loop.steps.report.findings
    assert (finding.rule, finding.locations[0].source) == ("AG201", "hidden.add_(1)")
    [record] = [entry for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert record.levelname == "ERROR"
    assert record.getMessage().startswith("step 3 raised RuntimeError")
    assert "hidden.add_(1)" in record.getMessage()


def test_what_an_optimizer_holds_is_read_for_a_report_alone(tmp_path, monkeypatch):
    """Once at the end of each step that is reported, and in no other one; the report has it all the same."""
    read = []
    monkeypatch.setattr(known, "Rows", lambda *args: read.append(args[-1]) or Rows(*args))
    loop = Loop(tmp_path, first=2, formats=())
    loop.optimizer = torch.optim.Adam(loop.model.parameters())
    loop.run(5)
    assert len(read) == 2
    rows = loop.steps.report.capture.placement.rows
    assert [len(row.state) for row in rows] == [3] * 4
    assert all(row.gradient is None for row in rows)


def test_a_step_that_raises_behind_its_optimizer_tells_what_that_holds(tmp_path):
    """The error of step 2 comes when Adam has stepped: its moments are in the report."""
    loop = Loop(tmp_path, formats=())
    loop.optimizer = torch.optim.Adam(loop.model.parameters())
    loop.optimizer.register_step_post_hook(_raises_the_second_time())
    with pytest.raises(ValueError, match="too much"), loop.steps:
        loop.run(3)
    assert loop.steps.step == 2
    assert [len(row.state) for row in loop.steps.report.capture.placement.rows] == [3] * 4


def _raises_the_second_time():
    times = count(1)

    def hook(*_):
        if next(times) == 2:
            raise ValueError("too much")

    return hook


def test_the_exception_is_the_same_object(tmp_path):
    """Same object, same text, same innermost line."""
    mine = ValueError("mine")
    loop = Loop(tmp_path, formats=())
    with pytest.raises(ValueError, match="mine") as caught, loop.steps:
        loop.run(3, spoil=3, raising=mine)
    assert caught.value is mine
    assert (mine.args, mine.__notes__ if hasattr(mine, "__notes__") else []) == (("mine",), [])
    assert caught.traceback[-1].name == "run"
    assert loop.told[-1][2].endswith("no finding explains it") == (not loop.steps.report.findings)


def test_only_the_chosen_steps_are_captured_without_failing(tmp_path):
    """``failing=False``: between them nothing is observed, and a later failure stays unexplained."""
    loop = Loop(tmp_path, failing=False, formats=())
    seen = []
    loop.model[2].register_forward_pre_hook(lambda *_: seen.append(current() is not None))
    with pytest.raises(RuntimeError), loop.steps:
        loop.run(5, spoil=3)
    assert seen == [True, False, False]
    assert loop.reported == [1]


def test_an_interrupt_is_not_explained(tmp_path):
    """Whoever presses Ctrl+C knows why."""
    loop = Loop(tmp_path, formats=())
    with pytest.raises(KeyboardInterrupt), loop.steps:
        loop.run(3, spoil=2, raising=KeyboardInterrupt())
    assert loop.reported == [1]


def test_inside_an_open_capture_it_steps_aside(tmp_path):
    """One line says so, once; the capture that was there sees all of it."""
    loop = Loop(tmp_path, first=3)
    with pytest.warns(InspectorWarning, match="capture that is open") as said:  # noqa: SIM117
        with autograd_inspector.inspect() as inspection:
            loop.run(3)
    assert len(said) == 1
    assert loop.reported == []
    assert len(inspection.report.capture.steps) == 3


def test_a_failure_of_its_own_is_one_warning(tmp_path, monkeypatch):
    """The training goes on, uninspected."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    monkeypatch.setattr(stepwise, "deliver", lambda *_: 1 / 0)
    loop = Loop(tmp_path, first=5)
    with pytest.warns(InspectorWarning, match="ZeroDivisionError") as said:
        loop.run(5)
    assert len(said) == 1


def test_a_warning_turned_into_an_error_does_not_end_the_training(tmp_path, monkeypatch):
    """``-W error`` is meant for the program."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    monkeypatch.setattr(stepwise, "deliver", lambda *_: 1 / 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Loop(tmp_path).run(2)


def test_unknown_options_are_refused():
    """A misspelt option, or a format that does not exist, is an error when the callback is made."""
    with pytest.raises(TypeError, match="'evry'"):
        Stepwise(print, {"evry": 3})
    with pytest.raises(ValueError, match="'pdf'"):
        Stepwise(print, {"formats": ["pdf"]})


def test_a_step_that_was_forgotten_keeps_nothing_alive(tmp_path):
    """Neither the model nor an activation, without gc."""
    loop = Loop(tmp_path, first=0)
    activations = []
    loop.model[1].register_forward_hook(lambda _m, _a, out: activations.append(weakref.ref(out)) and None)
    loop.run(2)
    assert len(activations) == 2
    assert [ref() for ref in activations] == [None, None]


def test_a_run_that_an_interrupt_ended_refuses_no_block(tmp_path):
    """Nobody told of the interrupt, so the step is open still: a block of the program's own takes its place."""
    steps = Stepwise(print, {})
    steps.start(tmp_path, main=True)
    steps.begin(1, [], [])
    assert steps.open
    assert [op.name for op in observe(lambda: torch.ones(2) + 1).ops] == ["ones", "add"]
    steps.drop()
    assert current() is None


def test_a_capture_that_cannot_be_taken_away_is_one_warning(tmp_path, monkeypatch):
    """The training goes on without it."""

    def failing(self):
        self._let_go()
        raise ValueError("injected")

    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    steps = Stepwise(print, {"first": 9})
    steps.start(tmp_path, main=True)
    steps.begin(1, [], [])
    monkeypatch.setattr(Session, "abandon", failing)
    with pytest.warns(InspectorWarning, match="ValueError: injected; ") as seen:
        steps.drop()
    steps.begin(2, [], [])
    assert (len(seen), steps.open, current()) == (1, False, None)
