"""Compiled code run as it is written, whichever way the inspector was asked: the cut inside has its line."""

from __future__ import annotations

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters

from autograd_inspector import Report, inspect
from autograd_inspector.capture.observers.compiled.calls import EAGER
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.integrations.pytest_checks import Checks, options_of
from autograd_inspector.integrations.stepwise import Stepwise
from tests.shells import plain_shell, shell

__all__ = ["plain_shell", "shell"]

PROGRAM = """
import torch
from torch import nn
encoder, head = nn.Linear(3, 4), nn.Linear(4, 1)

@torch.compile(backend="eager")
def loss_of(x):
    return head(encoder(x).detach()).sum()

optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
loss_of(torch.ones(2, 3)).backward()
optimizer.step()
"""


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


def ran_as_written(report):
    """Whether nothing was compiled, the report says so once, and the cut was seen."""
    sources = [place.source for finding in report.findings for place in finding.locations]
    told = [note for note in report.capture.notes if note == EAGER]
    seen = any(".detach()" in source for source in sources)
    return told == [EAGER] and seen and counters["stats"].get("unique_graphs", 0) == 0


def test_in_a_cell(shell):
    """``%%autograd_inspect --eager``."""
    assert shell.run(f"%%autograd_inspect --eager --store found\n{PROGRAM}").success
    assert ran_as_written(shell["found"])


def test_on_the_command_line(tmp_path, capsys):
    """``autograd-inspect run --eager``."""
    script, file = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(PROGRAM, encoding="utf-8")
    main(["run", "--eager", "--json", str(file), str(script)])
    assert ran_as_written(Report.from_json(file.read_text(encoding="utf-8")))


class Trained:
    """A step of a training that a trainer's callback observes."""

    def __init__(self):
        self.encoder, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
        self.parameters = [*self.encoder.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.SGD(self.parameters, lr=0.1)
        self.loss_of = torch.compile(lambda x: self.head(self.encoder(x).detach()).sum(), backend="eager")

    def step(self):
        self.loss_of(torch.ones(2, 3)).backward()
        self.optimizer.step()


def test_in_a_callback(tmp_path):
    """``compiled="eager"`` of the trainers' callbacks; the steps that are not captured compile."""
    trained = Trained()
    steps = Stepwise(lambda *_: None, {"compiled": "eager", "formats": (), "failing": False})
    steps.start(tmp_path, main=True)
    steps.begin(1, [trained.encoder, trained.head], [trained.optimizer])
    trained.step()
    steps.end()
    assert ran_as_written(steps.report)
    trained.step()
    assert counters["stats"]["unique_graphs"] == 1


def test_a_callback_refuses_another_word(tmp_path):
    """A misspelt option is an error where it is written."""
    with pytest.raises(ValueError, match="neither 'as it is' nor 'eager'"):
        Stepwise(lambda *_: None, {"compiled": "eagerly"})


def test_in_a_pytest_block():
    """``autograd_inspect(compiled="eager")`` of the fixture and the marker."""
    trained, checks = Trained(), Checks()
    assert options_of((), {"compiled": "eager"}) == {"compiled": "eager"}
    with pytest.raises(ValueError, match="'as it is' or 'eager'"):
        options_of((), {"compiled": "eagerly"})
    with checks.inspect(fail_on=None, compiled="eager") as inspection:
        trained.step()
    assert ran_as_written(inspection.report)


def test_it_is_offered_where_a_function_was_left_to_python():
    """Dynamo leaves a loop with a graph break in it to Python: a note says so, and how all of it is seen."""

    def helper(x):
        return x.sin() * 2

    @torch.compile(backend="eager")
    def looped(x):
        for _ in range(2):
            x = helper(x)
            torch._dynamo.graph_break()
        return x

    with inspect() as inspection:
        looped(torch.ones(2))
    (note,) = [note for note in inspection.report.notes if "`looped`" in note]
    assert "compiled='eager'" in note
    assert "--eager" in note
