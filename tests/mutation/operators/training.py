"""Modes of modules and optimizers, schedules, checkpoints."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import ANY, Kind

from .constructing import owners


def _evaluating(anatomy: Anatomy) -> Iterator[Planted]:
    """The model is left in evaluation, its normalisation and dropout with it."""
    for statement, module in owners(anatomy):
        if anatomy.fact(module).modes:
            yield anatomy.after(statement, f"{anatomy.source(module)}.eval()")


def _train_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    """After an evaluation the model is not told that it trains again."""
    ends = [each for call in anatomy.calls("eval", "module") if (each := anatomy.alone(call))]
    for call in anatomy.calls("train", "module"):
        statement = anatomy.alone(call)
        if statement is not None and ends and anatomy.fact(call.func.value).modes:  # type: ignore[attr-defined]
            yield anatomy.dropped(statement, *ends)


def _optimizer_mode(anatomy: Anatomy) -> Iterator[Planted]:
    """A schedule-free optimizer is not told what comes."""
    for name in ("train", "eval"):
        for call in anatomy.calls(name, "optimizer"):
            statement = anatomy.alone(call)
            if statement is not None:
                steps = [each for step in anatomy.calls("step", "optimizer") if (each := anatomy.alone(step))]
                yield anatomy.dropped(statement, *steps)


def _schedule_first(anatomy: Anatomy) -> Iterator[Planted]:
    """The schedule steps before the optimizer."""
    for call in anatomy.calls("step", "schedule"):
        statement = anatomy.alone(call)
        if statement is None:
            continue
        body = anatomy.body(statement)
        steps = [each for step in anatomy.calls("step", "optimizer") if (each := anatomy.alone(step)) in body]
        if steps and steps[0].lineno < statement.lineno:
            yield anatomy.moved(statement, steps[0], behind=False)


def _reentrant(anatomy: Anatomy) -> Iterator[Planted]:
    """`use_reentrant` the other way round."""
    for call in anatomy.of(ast.Call):
        for keyword in call.keywords:
            if keyword.arg == "use_reentrant" and isinstance(keyword.value, ast.Constant):
                yield anatomy.replaced(keyword.value, str(not keyword.value.value))


def _checkpoints_frozen_input(anatomy: Anatomy) -> Iterator[Planted]:
    """What a reentrant checkpoint is given no longer requires grad."""
    for call in anatomy.calls("checkpoint"):
        if len(call.args) > 1:
            yield anatomy.replaced(call.args[1], "{}.detach()")


def _checkpoint_written(anatomy: Anatomy) -> Iterator[Planted]:
    """What a checkpoint will compute again from is written to behind it."""
    for call in anatomy.calls("checkpoint"):
        statement = anatomy.statement(call)
        if len(call.args) > 1 and isinstance(call.args[1], ast.Name) and isinstance(statement, ast.Assign):
            name = call.args[1].id
            if all(anatomy.source(target) != name for target in statement.targets):
                yield anatomy.after(statement, f"{name}.data.mul_(0.5)")


def _rng_not_kept(anatomy: Anatomy) -> Iterator[Planted]:
    """Dropout draws something else when a checkpoint computes again."""
    for call in anatomy.calls("checkpoint"):
        yield anatomy.replaced(call, f"{anatomy.source(call)[:-1]}, preserve_rng_state=False)")


KINDS = (
    Kind("left in evaluation", _evaluating, minor=ANY),
    Kind("train() dropped", _train_dropped, minor=ANY),
    Kind("optimizer not told its mode", _optimizer_mode),
    Kind("schedule before the step", _schedule_first, minor=ANY),
    Kind("checkpoint the other way", _reentrant),
    Kind("checkpoint's input detached", _checkpoints_frozen_input),
    Kind("checkpoint's input written", _checkpoint_written),
    Kind("checkpoint draws again", _rng_not_kept),
)
