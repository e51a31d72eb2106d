"""transformers: a TrainerCallback that inspects training steps, also for trl's trainers.

The Trainer tells its callbacks nothing of an exception. So either the training runs inside
``with inspected(trainer):``, which sees it, or the callback shadows ``trainer._run_epoch`` for as long as one
training runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from types import FrameType
from typing import Any, Unpack

from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback

from autograd_inspector.api.report import Report
from autograd_inspector.capture.lines.local_names import variables
from autograd_inspector.integrations.delivery import add_text, counts_of
from autograd_inspector.integrations.options import Options
from autograd_inspector.integrations.stepwise import Reported, Stepwise

_EPOCH = "_run_epoch"
_REPORTERS = "transformers.integrations."


class AutogradInspectorCallback(Reported, TrainerCallback):
    """Inspects the first step, every K-th and the one that raises.

    ::

        trainer = SFTTrainer(..., callbacks=[AutogradInspectorCallback(first=1, every=1000)])

    A step goes from the first forward to the end of the optimizer step, gradient accumulation included. Options: see
    :class:`.Options`. ``report`` and ``step`` are the last that were reported.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._steps = Stepwise(self._log, options, told_of_rest=True)
        self._trainer: Any = None
        self._watched = False
        self._restore: Callable[[], None] = lambda: None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Where the reports go, and who tells of an exception."""
        self._steps.start(args.output_dir or ".", main=state.is_world_process_zero)
        if self._watched:
            return
        self._restore()
        self._trainer = self._calling()
        if hasattr(self._trainer, _EPOCH):
            self._restore = _shadow(self._trainer, self._steps)
        else:
            self._steps.stop("this Trainer is not known: train inside `with inspected(trainer):`")

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Open a capture."""
        self._steps.begin(state.global_step + 1, [kwargs["model"]], [kwargs["optimizer"]])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close it; micro-batches before (``on_substep_end``) are part of the step."""
        self._steps.end()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluation is not recorded."""
        self._steps.rest()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A callback may stop the epoch between two micro-batches."""
        self._steps.drop()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Nothing stays open."""
        self._steps.finish()
        self._restore()
        if not self._watched:
            self._trainer = None

    @contextmanager
    def watching(self, trainer: Trainer) -> Iterator[None]:
        """Training runs inside: an exception that leaves is explained."""
        self._trainer, self._watched = trainer, True
        try:
            with self._steps:
                yield
        finally:
            self._trainer, self._watched = None, False

    def _calling(self) -> Any:
        """The Trainer that this callback belongs to, which runs somewhere above; None when there is none."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - no hook names the Trainer
        while frame is not None:
            if frame.f_code.co_varnames[:1] == ("self",):
                caller = next(value for name, value in variables(frame) if name == "self")
                if isinstance(caller, Trainer) and self in caller.callback_handler.callbacks:
                    return caller
            frame = frame.f_back
        return None

    def _log(self, step: int, report: Report, text: str) -> None:
        trainer = self._trainer
        if trainer is None:
            return
        # Not trainer.log(), which drains the averages that the program is collecting and adds to its history.
        handler, state = copy(trainer.callback_handler), copy(trainer.state)
        handler.callbacks = [callback for callback in handler.callbacks if _records(callback, trainer.args.world_size)]
        # A step that raised has not been counted.
        state.global_step = step
        handler.call_event("on_log", trainer.args, state, trainer.control, logs=counts_of(report))
        add_text([getattr(callback, "tb_writer", None) for callback in trainer.callback_handler.callbacks], text, step)


@contextmanager
def inspected(trainer: Trainer, **options: Unpack[Options]) -> Iterator[AutogradInspectorCallback]:
    """Inspect what ``trainer`` trains inside the block, and take everything away again.

    ::

        with inspected(trainer, every=1000) as inspector:
            trainer.train()
        inspector.report

    Needs nothing but the Trainer's public hooks, so it also suits Trainers with a training loop of their own.
    """
    callback = AutogradInspectorCallback(**options)
    trainer.add_callback(callback)
    try:
        with callback.watching(trainer):
            yield callback
    finally:
        trainer.remove_callback(callback)


def _records(callback: TrainerCallback, ranks: int) -> bool:
    """Whether a callback may be told of the counts: not one that prints, the logger has said what there is to say.

    With several ranks only transformers' own reporters, which act on rank 0 alone: in the program's ``on_log`` all
    ranks may meet, and those that have nothing to report would not come.
    """
    if isinstance(callback, (PrinterCallback, ProgressCallback)):
        return False
    return ranks == 1 or any(kind.__module__.startswith(_REPORTERS) for kind in type(callback).__mro__)


def _shadow(trainer: Any, steps: Stepwise) -> Callable[[], None]:
    """Let each epoch of this Trainer run where its exceptions are seen; returns what takes that away again."""
    attributes = vars(trainer)
    before = attributes.get(_EPOCH)
    run_epoch = getattr(trainer, _EPOCH)

    def restore() -> None:
        attributes.pop(_EPOCH, None)
        if before is not None:
            attributes[_EPOCH] = before

    @wraps(run_epoch)
    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            with steps:
                return run_epoch(*args, **kwargs)
        except BaseException:
            restore()
            raise

    attributes[_EPOCH] = watched
    return restore
