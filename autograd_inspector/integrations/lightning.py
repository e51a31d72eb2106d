"""Lightning: a Callback that inspects training steps. For ``lightning`` and for ``pytorch_lightning``."""

from __future__ import annotations

from typing import Any, Unpack

from autograd_inspector.api.report import Report
from autograd_inspector.integrations.delivery import add_text, counts_of
from autograd_inspector.integrations.options import Options
from autograd_inspector.integrations.stepwise import Reported, Stepwise

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class AutogradInspectorCallback(Reported, Callback):
    """Inspects the first step, every K-th and the one that raises.

    ::

        trainer = lightning.Trainer(callbacks=[AutogradInspectorCallback(first=1, every=1000)])

    A step is what Lightning counts as one: with gradient accumulation all its batches, from the first forward to the
    optimizer step; with manual optimization one batch. Options: see :class:`.Options`. ``report`` and
    ``step`` are the last that were reported; a strategy that trains in processes of its own ("ddp_spawn", "ddp_fork",
    "ddp_notebook") leaves them there, and what comes back are the files.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._steps = Stepwise(self._log, options, told_of_rest=True)
        self._count = self._before = self._batches = 0
        self._trainer: Any = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Where the reports go, and which step is next: a resumed run goes on counting."""
        self._count = trainer.global_step
        self._batches = 0
        # Lightning asks all ranks for the folder together.
        folder = trainer.log_dir or trainer.default_root_dir
        self._steps.start(folder, main=trainer.is_global_zero)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Open a capture, unless this batch accumulates into a step that is under way."""
        if self._batches == 0:
            self._trainer = trainer
            self._before = trainer.global_step
            self._steps.begin(self._count + 1, [pl_module], trainer.optimizers)
        self._batches += 1

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """The step has ended when an optimizer stepped, or could have."""
        if trainer.global_step > self._before or self._batches >= trainer.accumulate_grad_batches:
            self._count += 1
            self._batches = 0
            self._steps.end()
            self._trainer = None

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Validation in the middle of an accumulation is no part of the step."""
        self._drop()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """``on_train_batch_start`` returned -1: no batch ends."""
        self._drop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Explain the step that raised."""
        self._steps.failed(exception)
        self._drop()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Nothing stays open."""
        self._drop()
        self._steps.finish()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Also where Lightning ends a run without calling any other hook."""
        self._drop()

    def _drop(self) -> None:
        self._batches = 0
        self._steps.drop()
        self._trainer = None

    def _log(self, step: int, report: Report, text: str) -> None:
        for logger in self._trainer.loggers:
            logger.log_metrics(counts_of(report), step=step)
        add_text((logger.experiment for logger in self._trainer.loggers), text, step)
