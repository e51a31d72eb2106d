"""`every="auto"`: which steps are watched for a training to take only so much longer."""

import logging

import pytest
import torch

from autograd_inspector.capture.session import current
from autograd_inspector.integrations.options import check_options
from autograd_inspector.integrations.schedule import WithinBudget
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location

from .loop import Loop

PLAIN, WATCHED = 1.0, 3.0
"""Seconds of a step on the clock of these tests."""


class Run:
    """A training on a clock that is set by hand; ``nodes`` and ``findings`` tell of a step what it has."""

    def __init__(self, budget=0.03, first=1, nodes=lambda step: 10, findings=lambda step: (), cost=WATCHED):
        self.now, self.made = 0.0, 0
        self.schedule = WithinBudget(budget, first, clock=lambda: self.now)
        self.schedule._sequence = lambda: self.made
        self.nodes, self.findings, self.cost = nodes, findings, cost
        self.watched, self.told = [], []

    def steps(self, count):
        for step in range(1, count + 1):
            watched = self.schedule.begins(step)
            self.now += self.cost if watched else PLAIN
            self.made += self.nodes(step)
            if watched:
                self.watched.append(step)
                if self.schedule.told(self.findings(step)):
                    self.told.append(step)
            self.schedule.ended()
        return self


def found(rule, line):
    return Finding(rule, "name", "error", "message", "fix", (Location("train.py", line, "f"),))


@pytest.mark.parametrize("budget", [0.01, 0.03, 0.2])
@pytest.mark.parametrize("cost", [1.5, 3.0, 9.0])
def test_the_training_takes_no_longer_than_the_budget_allows(budget, cost):
    """Over a long run the share is kept, and used: another watched step would not have fitted twice over."""
    run = Run(budget, cost=cost).steps(5_000)
    spent = (cost - PLAIN) * len(run.watched)
    assert spent <= budget * 5_000 * PLAIN
    assert spent > budget * 5_000 * PLAIN - 2 * (cost - PLAIN) - 1


def test_the_first_two_steps_are_always_watched():
    """The optimizer makes its state in the first; a later ``first`` is kept, an earlier one raised."""
    assert Run(budget=0.0).steps(50).watched == [1, 2]
    assert Run(budget=0.0, first=4).steps(50).watched == [1, 2, 3, 4]


def test_a_first_step_that_warms_everything_up_is_no_cost_of_watching():
    """Nor is the run watched less for it."""
    run = Run()
    run.now += 0.0
    plain = Run().steps(1_000).watched
    run.schedule.begins(1)
    run.now += 100.0
    run.schedule.ended()
    run.steps(1_000)
    assert len(run.watched) >= len(plain)


def test_a_graph_of_another_size_is_watched_next():
    """A step that branches elsewhere from step 20 on: step 21, whatever the budget; no further one for it."""
    run = Run(budget=0.0, nodes=lambda step: 10 if step < 20 else 14).steps(60)
    assert run.watched == [1, 2, 21]


def test_a_graph_that_recurs_is_met_again():
    """Each 16th step adds a penalty: the step after one does not have it, the one at the same distance does."""
    run = Run(budget=0.0, nodes=lambda step: 14 if step % 16 == 0 else 10).steps(100)
    assert run.watched == [1, 2, 17, 48]


def test_graphs_that_all_differ_do_not_use_up_the_run():
    """Steps beyond the budget are limited."""
    run = Run(budget=0.0, nodes=lambda step: step).steps(1_000)
    assert len(run.watched) == 2 + 32


def test_the_step_after_a_new_finding_is_watched_and_the_same_one_is_told_once():
    """Another line is another finding; one that is known neither is told again nor costs another look."""
    run = Run(0.03, findings=lambda step: (found("AG305", 3 if step < 500 else 4),)).steps(1_000)
    assert [step for step in run.told if step > 2] == [next(step for step in run.watched if step >= 500)]
    assert run.told[-1] + 1 in run.watched


def test_between_the_watched_steps_nothing_is_observed(tmp_path):
    """Real captures: those of steps 1 and 2, then of what the budget allows; the others run plain."""
    loop = Loop(tmp_path, every="auto", budget=0.0, formats=())
    seen = []
    loop.model[2].register_forward_pre_hook(lambda *_: seen.append(current() is not None))
    loop.run(12)
    assert seen == [True, True] + [False] * 10
    assert loop.reported == [1, 2]


def test_a_branch_that_is_taken_later_is_watched(tmp_path):
    """The number of autograd nodes is read, not the graph."""
    loop = Loop(tmp_path, every="auto", budget=0.0, formats=())
    seen, model = [], loop.model
    later = torch.nn.Sequential(model[2], torch.nn.Identity())
    later[1].register_forward_pre_hook(lambda _m, args: args[0] * 2 if len(seen) > 6 else None)
    later[0].register_forward_pre_hook(lambda *_: seen.append(current() is not None))
    model[2] = later
    loop.run(12)
    assert [step for step, watched in enumerate(seen, 1) if watched] == [1, 2, 8]


def test_a_step_that_raises_unwatched_says_how_to_have_it_explained(tmp_path, caplog):
    """One line; one that was watched is explained."""
    loop = Loop(tmp_path, every="auto", budget=0.0, formats=())
    with pytest.raises(RuntimeError), loop.steps:
        loop.run(9, spoil=7)
    [record] = [entry for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert record.getMessage().startswith("step 7 raised RuntimeError and was not captured; with failing=True")
    loop = Loop(tmp_path, every="auto", formats=())
    with pytest.raises(RuntimeError), loop.steps:
        loop.run(9, spoil=2)
    assert loop.reported == [1, 2]
    assert [finding.rule for finding in loop.steps.report.findings] == ["AG201"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"every": "often"}, 'every must be a number of steps or "auto"'),
        ({"every": 10, "budget": 0.1}, 'budget needs every="auto"'),
        ({"every": "auto", "failing": True}, "failing=True captures each step"),
        ({"every": "auto", "budget": -1}, "budget must be a fraction"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, why):
    """When the callback is made, in one line."""
    with pytest.raises(ValueError, match=why):
        check_options(options)
