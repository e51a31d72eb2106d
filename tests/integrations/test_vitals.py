"""The statistics of a training run that a trainer's callback collects."""

import csv
import importlib
from pathlib import Path

import pytest

from .loop import Loop


def table(folder: Path, kind: str) -> list[dict[str, str]]:
    with (folder / f"vitals-{kind}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("failing", "seen"), [(True, (1, 2, 3, 4, 5, 6)), (False, (1, 3, 6))])
def test_one_record_of_the_whole_run(tmp_path, failing, seen):
    """Every captured step is in it, under the run's own number, whether or not it was reported."""
    loop = Loop(tmp_path, vitals=True, every=3, failing=failing, formats=())
    loop.run(6)
    vitals = loop.steps.vitals
    assert vitals.steps == seen
    assert all(None not in parameter.gradient.values for parameter in vitals.parameters)
    assert loop.steps.report.vitals.steps == seen
    assert {parameter.name for parameter in loop.steps.report.vitals.parameters} >= {"0.weight", "2.weight"}


def test_what_is_logged_and_written(tmp_path):
    """Trackers get the last step's norms by module, and the end of the run leaves three tables."""
    loop = Loop(tmp_path, vitals=True, formats=())
    loop.run(4)
    [(_, report, _)] = loop.told
    from autograd_inspector.integrations.delivery import counts_of

    logged = counts_of(report)
    norm = logged["autograd_inspector/gradient_norm"]
    parts = [value for name, value in logged.items() if name.startswith("autograd_inspector/gradient_norm/")]
    assert norm == pytest.approx(sum(part**2 for part in parts) ** 0.5)
    assert any(name.startswith("autograd_inspector/update_ratio/") for name in logged)
    loop.steps.finish()
    folder = tmp_path / "autograd-inspector"
    assert {row["step"] for row in table(folder, "parameters")} == {"1", "2", "3", "4"}
    assert {"parameter", "gradient", "update"} <= set(table(folder, "parameters")[0])
    assert table(folder, "modules")
    assert len(table(folder, "memory")) == 4


def test_a_new_run_begins_anew(tmp_path):
    """What an earlier run left is not in it."""
    loop = Loop(tmp_path, vitals=True, formats=())
    loop.run(3)
    loop.steps.start(tmp_path, main=True)
    assert not loop.steps.vitals
    loop.run(2)
    assert loop.steps.vitals.seen == 2


def test_without_them_nothing_is_collected(tmp_path):
    """Neither in the callback nor in a file."""
    loop = Loop(tmp_path, formats=())
    loop.run(2)
    loop.steps.finish()
    assert not loop.steps.vitals
    assert not (tmp_path / "autograd-inspector").exists()


@pytest.mark.stories
@pytest.mark.parametrize("trainer", ["accelerate", "lightning", "transformers"])
def test_every_trainer_writes_them(tmp_path, trainer):
    """At the end of its run."""
    pytest.importorskip(trainer)
    train = importlib.import_module(f"tests.integrations.programs.with_{trainer}").train
    train(tmp_path, "detach", vitals=True, every=3, formats=())
    [path] = tmp_path.rglob("vitals-parameters.csv")
    steps = {int(row["step"]) for row in table(path.parent, "parameters")}
    assert steps == {*range(1, max(steps) + 1)}
    assert len(steps) > 2
