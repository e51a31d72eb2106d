"""The steps that nobody chose share captures: what is kept of them, and what ends one."""

import weakref

import pytest
import torch
from transformers import Trainer, TrainingArguments

import autograd_inspector
from autograd_inspector.capture.retention.folding import WHOLE_IN_FLIGHT
from autograd_inspector.capture.session import Session, current, open_session
from autograd_inspector.integrations import step_captures
from autograd_inspector.integrations.stepwise import Stepwise
from autograd_inspector.integrations.transformers import AutogradInspectorCallback

from .loop import Loop


@pytest.fixture
def begun(monkeypatch):
    """The captures that begin."""
    sessions, start = [], Session.start

    def counted(self, **how):
        sessions.append(weakref.ref(self))
        return start(self, **how)

    monkeypatch.setattr(Session, "start", counted)
    return sessions


def recurrent(folder):
    """A training that carries its hidden state, with its graph, from step to step: the second one raises."""
    steps = Stepwise(lambda *_: None, {"first": 0, "formats": ()}, told_of_rest=True)
    steps.start(folder, main=True)
    cell = torch.nn.RNNCell(3, 4)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    hidden = torch.zeros(2, 4)

    def train():
        nonlocal hidden
        for step in range(1, 4):
            steps.begin(step, [cell], [optimizer])
            hidden = cell(torch.ones(2, 3), hidden)
            hidden.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            steps.end()

    with pytest.raises(RuntimeError, match="second time"), steps:
        train()
    return steps


def test_steps_that_nobody_chose_share_a_capture(tmp_path, begun):
    """Step 1 is chosen and has its own; 64 steps later another begins."""
    Loop(tmp_path, formats=()).run(2 + WHOLE_IN_FLIGHT)
    assert len(begun) == 3


def test_a_chosen_step_has_a_capture_of_its_own(tmp_path, begun):
    """Its report knows of no other step."""
    loop = Loop(tmp_path, first=0, every=4, formats=())
    loop.run(9)
    assert loop.reported == [4, 8]
    assert [len(report.capture.steps) for _, report, _ in loop.told] == [1, 1]
    assert len(begun) == 5


def test_a_capture_of_many_calls_is_not_continued(tmp_path, begun, monkeypatch):
    """What it holds stays bounded, however large a step is."""
    monkeypatch.setattr(step_captures, "MOST_OPS", 5)
    Loop(tmp_path, first=0, formats=()).run(4)
    assert len(begun) == 4


def test_the_cause_may_lie_in_an_earlier_step(tmp_path):
    """The graph that step 2 goes through again was built in step 1, at a line that the report names."""
    steps = recurrent(tmp_path)
    finding = steps.report.findings[0]
    assert (steps.step, finding.rule) == (2, "AG501")
    assert "hidden = cell(torch.ones(2, 3), hidden)" in [location.source for location in finding.locations]
    assert len(steps.report.capture.backwards) == 2
    assert "The capture began with step 1 of the training." in steps.report.notes


def test_what_happens_between_two_steps_is_seen(tmp_path):
    """The line that freezes the model there is named when the next step raises."""
    loop = Loop(tmp_path, first=0, formats=())
    loop.steps.begin(1, [loop.model], [loop.optimizer])
    loop.steps.end()
    loop.model.requires_grad_(False)
    loop.steps.begin(2, [loop.model], [loop.optimizer])
    loss = loop.model(torch.ones(2, 3)).sum()
    with pytest.raises(RuntimeError, match="does not require grad"), loop.steps:
        loss.backward()
    finding = loop.steps.report.findings[0]
    assert finding.rule == "AG106"
    assert finding.locations[0].source == "loop.model.requires_grad_(False)"


def test_between_two_steps_nothing_fails_because_of_it(tmp_path):
    """A block of the program's own takes the place of the open capture, and the next step begins another."""
    loop = Loop(tmp_path, first=0, formats=())
    steps, model = loop.steps, loop.model
    for step in (1, 2):
        steps.begin(step, [model], [loop.optimizer])
        model(torch.ones(2, 3)).sum().backward()
        steps.end()
        assert steps.open
        with autograd_inspector.inspect() as inspection:
            model(torch.ones(2, 3)).sum().backward()
        assert len(inspection.report.capture.backwards) == 1
        assert current() is None
    steps.drop()
    assert (steps.open, open_session()) == (False, None)


def test_an_error_between_two_steps_is_not_explained(tmp_path):
    """No step of the training raised it; what is open is dropped."""
    loop = Loop(tmp_path, first=0, formats=())
    loop.steps.begin(1, [loop.model], [loop.optimizer])
    loop.steps.end()
    with pytest.raises(ValueError, match="between"), loop.steps:
        raise ValueError("between")
    assert (loop.reported, loop.steps.open, current()) == ([], False, None)


def test_a_model_that_comes_later_is_known(tmp_path):
    """The captures that go on are introduced to it when it is first handed over, and to no model twice."""
    loop = Loop(tmp_path, first=0, formats=())
    other = torch.nn.Linear(3, 1)
    loop.steps.begin(1, [loop.model], [loop.optimizer])
    loop.steps.end()
    loop.steps.begin(2, [loop.model, other], [loop.optimizer, torch.optim.SGD(other.parameters(), lr=0.1)])
    loss = other(torch.ones(2, 3)).detach().sum()
    with pytest.raises(RuntimeError, match="does not require grad"), loop.steps:
        loss.backward()
    rows = loop.steps.report.capture.placement.rows
    assert sorted(row.name for row in rows)[-2:] == ["other.bias", "other.weight"]


def test_what_is_not_told_of_rest_keeps_to_single_steps(tmp_path, begun):
    """Whoever cannot say when training pauses leaves nothing open between two steps."""
    steps = Stepwise(print, {"first": 0, "formats": ()})
    steps.start(tmp_path, main=True)
    for step in (1, 2):
        steps.begin(step, [], [])
        steps.end()
        assert (steps.open, current()) == (False, None)
    assert len(begun) == 2


def test_evaluation_is_not_recorded(tmp_path):
    """transformers' Trainer evaluates after each second step: no capture is open then."""
    open_ones = []

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 1)

        def forward(self, x, labels=None):
            open_ones.append((self.training, current() is not None))
            return {"loss": self.linear(x).sum()}

    data = [{"x": torch.ones(2), "labels": torch.ones(1)}] * 8
    arguments = TrainingArguments(
        tmp_path, max_steps=4, per_device_train_batch_size=2, per_device_eval_batch_size=2, eval_strategy="steps",
        eval_steps=2, report_to=[], use_cpu=True, disable_tqdm=True, prediction_loss_only=True,
    )  # fmt: skip
    callback = AutogradInspectorCallback(formats=())
    Trainer(Net(), arguments, train_dataset=data, eval_dataset=data, callbacks=[callback]).train()
    assert {seen for training, seen in open_ones if training} == {True}
    evaluated = [seen for training, seen in open_ones if not training]
    # The Trainer tells of evaluation behind its first batch.
    assert evaluated == [True, False, False, False] * 2


def test_vitals_go_on_in_a_capture_of_many_steps(tmp_path, begun):
    """Each step has the line that it has where each has a capture of its own."""
    tables = []
    for shared in (True, False):
        loop = Loop(tmp_path / str(shared), vitals=True, formats=())
        loop.steps._told_of_rest = shared
        loop.run(6)
        loop.steps.finish()
        tables.append([loop.steps.vitals.records(of) for of in ("parameters", "modules", "memory")])
    assert tables[0] == tables[1]
    assert len(tables[0][2]) == 6
    assert len(begun) == 2 + 6
